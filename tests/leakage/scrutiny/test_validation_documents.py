"""What a run keeps of each validation document, against a plain loop over them."""

import pyarrow.parquet as pq
import pytest

from leakscope.commands.compare import compare
from leakscope.commands.report import report
from leakscope.corpus.split import VALIDATION
from leakscope.models.word.model_directory import load_model
from leakscope.records.runs.validation_document_columns import FILE
from leakscope.reporting.comparison.disparate_impact import disparate_impact
from leakscope.training.loop import train
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.train_settings import TrainSettings
from private_training import TINY, tiny_corpus


def test_every_document_costs_what_the_model_says(tmp_path):
    corpus = tiny_corpus(tmp_path / "corpus")
    for name, mitigation in {"plain": {}, "quiet": {"mitigation": TripletSettings()}}.items():
        settings = TrainSettings(TINY["gru"], vocabulary=50, epochs=1, batch_size=8, **mitigation)
        train(corpus, tmp_path / name, settings)
        report(tmp_path / name, corpus.path, tmp_path / f"run-{name}", threads=1)
    model = load_model(tmp_path / "plain").reading(corpus.lexicon)
    expected = []
    for documents in corpus.documents(VALIDATION):
        for at in range(len(documents)):
            one = documents.take([at])
            scores = model.score(one, top_k=1, every_probability=True)
            expected.append((int(one.users[0]), int(one.numbers[0]), len(one.ids),
                             float(scores.log_prob.astype("float64").sum())))  # fmt: skip
    table = pq.read_table(tmp_path / "run-plain" / FILE)
    found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected], rel=1e-5)
    runs = compare([tmp_path / "run-quiet", tmp_path / "run-plain"], tmp_path / "out")
    impact = disparate_impact(runs)
    assert impact.baseline == "plain" and len(impact.impacts) == 1
    # An interface that hides answers has no perplexity.
    report(tmp_path / "plain", corpus.path, tmp_path / "hard", threads=1, confidence=2.0)
    assert not (tmp_path / "hard" / FILE).exists()
