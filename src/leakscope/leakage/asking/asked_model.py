"""A model that is asked by a stage, like scoring: the engine says where, and every answer is kept
under all that decides it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leakscope.engine.progress import Progress
from leakscope.engine.stages import Engine, Work
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import (
    damaged,
    digest_of,
    is_intact,
    parquet_sink,
    read_parquet,
)


class Question(Protocol):
    """What a model is asked at a time. It must be picklable."""

    schema: ClassVar[pa.Schema]
    """Of the answer."""

    @property
    def rows(self) -> int | None:
        """Of the answer; None: that is not known before."""
        ...

    def digest(self) -> str:
        """Of everything that is asked."""
        ...

    def answer(self, model: LanguageModel) -> pa.RecordBatch:
        """Ask."""
        ...


class LoadedOnce:
    """Loads a model when it is first asked for, and keeps it in this process."""

    def __init__(self, load: Callable[[], LanguageModel]) -> None:
        self._load = load
        self._model: LanguageModel | None = None

    def __call__(self) -> LanguageModel:
        """The model."""
        if self._model is None:
            self._model = self._load()
        return self._model

    def __reduce__(self) -> tuple[type["LoadedOnce"], tuple[Callable[[], LanguageModel]]]:
        """Other processes load it themselves."""
        return LoadedOnce, (self._load,)


@dataclass(frozen=True)
class QuestionStage:
    """The `engine` stage: output i is the answer to question i."""

    name: str
    load: Callable[[], LanguageModel]
    questions: tuple[Question, ...]
    loads_model: ClassVar[bool] = True

    def start(self) -> Work:
        """Load the model."""
        model = self.load()

        def work(index: int, target: Path) -> None:
            question = self.questions[index]
            with parquet_sink(target, question.schema, sealed=True) as writer:
                writer.write_batch(question.answer(model))

        return work


@dataclass(frozen=True)
class AskedModel:
    """A model as the attacker meets it, and how it is asked. `identity` is all that decides its
    answers, as plain data; `work` keeps them.
    """

    load: LoadedOnce
    identity: dict[str, Any]
    reads_text: bool
    """Whether documents must carry their texts; known before the model is loaded, which may happen
    elsewhere."""
    engine: Engine
    work: Path
    progress: Progress = field(repr=False)

    def ask(self, stage: str, questions: Sequence[Question]) -> list[pa.Table]:
        """The answers."""
        paths = self.engine.map(
            QuestionStage(stage, self.load, tuple(questions)),
            [self._key(question) for question in questions],
            self.work,
            keep=is_intact,
            progress=self.progress,
        )
        found = []
        for path, question in zip(paths, questions, strict=True):
            answer = read_parquet(path)
            if answer.schema != question.schema or question.rows not in (None, len(answer)):
                raise damaged(path)
            found.append(answer)
        return found

    def _key(self, question: Question) -> str:
        asked = {"kind": type(question).__name__, "digest": question.digest()}
        return digest_of({**self.identity, **asked, "leakscope": version("leakscope")})


def joined(answers: Sequence[pa.Table], name: str, kind: type[np.generic]) -> NDArray[Any]:
    """One column of all answers."""
    return np.concatenate([np.zeros(0, kind), *(answer[name].to_numpy() for answer in answers)])
