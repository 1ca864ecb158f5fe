"""All tables of a run: words and keys of users only where they are to be revealed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.counts.user_sizes import UserSizes
from leakscope.leakage.run_tables.occurrence_table import OccurrenceTable
from leakscope.leakage.run_tables.sequence_table import SequenceTable
from leakscope.leakage.run_tables.spelling import Speller, user_keys
from leakscope.leakage.run_tables.table_stage import PartedTable, write_tables
from leakscope.leakage.run_tables.user_table import UserTable
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import contexts, examples
from leakscope.records.documents import IntArray
from leakscope.records.runs.report_settings import ReportSettings


@dataclass(frozen=True)
class RunTables:
    """What the tables of a run are made from."""

    corpus: Corpus
    settings: ReportSettings
    pieces: Sequence[Path]
    """Scored, in corpus order."""
    counted: CountedSequences
    findings: UniqueFindings
    sizes: UserSizes
    audited: IntArray | None = None
    """The users whom the report is about; None: all."""

    def write(self, out: Path, work: Path, threads: int, progress: Progress = silent) -> None:
        """Write them into `out`, by way of parts that are kept in `work`."""
        keys, findings = None, self.findings
        if self.settings.reveal:
            keys = user_keys(shard.user_keys() for shard in self.corpus.shards)
        of_member = self.counted.sequences.of_member
        tables: dict[str, PartedTable] = {
            "sequences.parquet": self._sequences(),
            "occurrences.parquet": OccurrenceTable(self.pieces, of_member, findings.public),
            "users.parquet": UserTable.of(self.counted, findings, self.sizes, keys, self.audited),
        }
        write_tables({out / name: table for name, table in tables.items()}, work, threads, progress)

    def _sequences(self) -> SequenceTable:
        counted, settings, corpus = self.counted, self.settings, self.corpus
        chosen = examples(counted.members, counted.sequences, settings.contexts)
        speller = None
        if settings.reveal:
            before = contexts(counted.members, chosen, corpus.documents(), settings.context_words)
            digest = corpus.manifest.lexicon_digest
            speller = Speller(corpus.lexicon, digest, counted.trie, before)
        return SequenceTable(counted, self.findings, chosen, speller, settings.user_threshold)
