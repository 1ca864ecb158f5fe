"""Ask the public model of occurrences, some documents at a time: a stage, like scoring."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.engine.stages import Engine, Work
from leakscope.leakage.asking.asked_model import AskedModel, LoadedOnce
from leakscope.leakage.asking.known_words import known_words
from leakscope.leakage.scrutiny.public_surprise import (
    AskedOccurrences,
    PublicAnswers,
    PublicModel,
    log_probs_of,
    predictions_of,
)
from leakscope.leakage.sequences.documents_by_number import (
    documents_holding,
    documents_numbered,
    shards_holding,
)
from leakscope.leakage.sequences.members import Members
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import (
    damaged,
    digest_of,
    is_intact,
    parquet_sink,
    read_parquet,
)
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.models.public_model import GivenModelRecord, PublicModelRecord

STAGE = "public"
_LOG_PROBS = pa.schema([("log_probs", pa.list_(pa.float32()))])
_PREDICTED = pa.schema([("predicted", pa.bool_())])


@dataclass(frozen=True)
class PublicStage:
    """The `engine` stage: output i is about the occurrences from groups[i][0] to groups[i][1]."""

    corpus: Path
    training: str
    """See `Corpus.training`."""
    groups: tuple[tuple[int, int], ...]
    asked: AskedOccurrences
    load: Callable[[], LanguageModel]
    top_k: int | None
    """Whether the model predicts them; None: their log-probabilities."""
    name: str = STAGE
    loads_model: ClassVar[bool] = True

    def start(self) -> Work:
        """Load the model."""
        model = self.load()
        shards = Corpus.open(self.corpus).trained_on(self.training).shards

        def work(index: int, target: Path) -> None:
            asked = self.asked.part(*self.groups[index])
            documents = documents_numbered(shards, asked.documents, texts=model.needs_text)
            if self.top_k is None:
                found = log_probs_of(model, documents, asked)
                lists = pa.ListArray.from_arrays(pa.array(asked.offsets, pa.int32()), found)
                _write(target, _LOG_PROBS, lists)
            else:
                _write(target, _PREDICTED, predictions_of(model, documents, asked, self.top_k))

        return work


def _write(target: Path, schema: pa.Schema, values: pa.Array | BoolArray) -> None:
    with parquet_sink(target, schema, sealed=True) as writer:
        writer.write_batch(pa.record_batch([pa.array(values)], schema=schema))


@dataclass(frozen=True)
class PublicJudge:
    """A public model, and how it is asked: by a stage of `engine`, whose outputs are kept in
    `work`.
    """

    record: PublicModelRecord
    load: LoadedOnce
    identity: AnswerIdentity
    corpus: Corpus
    work: Path
    engine: Engine
    progress: Progress = field(repr=False)
    alike: "PublicJudge | None" = None
    """The one that says what comes out without memory, if there is one: see `PublicModel`."""

    @staticmethod
    def of(
        model: PublicModel, corpus: Corpus, work: Path, engine: Engine, progress: Progress
    ) -> "PublicJudge":
        """The one that judges what comes out of `corpus`."""
        load = LoadedOnce(model.load)
        judge = PublicJudge(model.record, load, model.identity, corpus, work, engine, progress)
        alike = model.alike
        if alike is None:
            return judge
        if alike.identity == model.identity:
            return replace(judge, alike=judge)
        then = replace(judge, load=LoadedOnce(alike.load), identity=alike.identity)
        return replace(judge, alike=then)

    @property
    def stage_not_kept(self) -> str | None:
        """The snapshot that is audited, if the public models were trained alike but have not kept
        what they were then.
        """
        record = self.record
        stage = None if isinstance(record, GivenModelRecord) else record.stage
        return stage.snapshot if stage is not None and not stage.digests else None

    def answers(self, members: Members, chosen: LongArray) -> PublicAnswers:
        """What the model says of the occurrences `chosen` (rising) in their own contexts. Only
        documents that hold one are read by the model, and each no further than its last.
        """
        asked = AskedOccurrences.of(members, chosen)
        lists = [column.combine_chunks() for column in self._ask(asked, None, _LOG_PROBS)]
        found = [column.flatten().to_numpy() for column in lists]
        return PublicAnswers(
            chosen, asked.offsets, np.concatenate([*found, np.zeros(0, np.float32)])
        )

    def predictions(self, members: Members, chosen: LongArray, top_k: int) -> BoolArray:
        """[u] whether the model predicts all words of the occurrences `chosen` (rising), within its
        top k and in their own contexts.
        """
        asked = AskedOccurrences.of(members, chosen)
        found = [column.to_numpy() for column in self._ask(asked, top_k, _PREDICTED)]
        return np.concatenate([*found, np.zeros(0, np.bool_)])

    def knows(self, ids: IntArray) -> BoolArray | None:
        """See `LanguageModel.knows`."""
        asked = AskedModel(self.load, self._identity, False, self.engine, self.work, self.progress)
        return known_words(asked, ids)

    def _ask(
        self, asked: AskedOccurrences, top_k: int | None, schema: pa.Schema
    ) -> Iterator[pa.ChunkedArray]:
        """The outputs of the stage, group by group."""
        corpus = self.corpus
        groups = tuple(
            (int(rows[0]), int(rows[-1]) + 1)
            for _, rows in documents_holding(corpus.documents(), asked.documents)
        )
        outputs = self.engine.map(
            PublicStage(corpus.path, corpus.training, groups, asked, self.load, top_k),
            [self._key(asked.part(*group), top_k) for group in groups],
            self.work,
            sizes=[high - low for low, high in groups],
            unit="occurrences",
            keep=is_intact,
            progress=self.progress,
        )
        for output, (low, high) in zip(outputs, groups, strict=True):
            rows = read_parquet(output)
            if rows.schema != schema or len(rows) != high - low:
                raise damaged(output)
            yield rows.column(0)

    def _key(self, asked: AskedOccurrences, top_k: int | None) -> str:
        """The digest of everything that decides what the model says of some occurrences."""
        places = hashlib.blake2b(digest_size=16)
        for values in (asked.documents, asked.starts, asked.lengths):
            places.update(np.ascontiguousarray(values).tobytes())
        shards = shards_holding(self.corpus.shards, asked.documents)
        return digest_of(
            {
                **self._identity,
                "shards": [shard.digest for shard in shards],
                "occurrences": places.hexdigest(),
                "top_k": top_k,
                "leakscope": version("leakscope"),
            }
        )

    @property
    def _identity(self) -> dict[str, Any]:
        """What decides its answers, besides what it is asked."""
        return {
            "kind": self.record.kind,
            "model": self.identity.digest,
            "lexicon": self.corpus.manifest.lexicon_digest,
            "trained_on": self.corpus.training,
        }
