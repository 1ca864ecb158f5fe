"""A Hugging Face model behind a confidence threshold: reported afresh, or hardened from the plain
run's stored probabilities, it is the same.
"""

import pyarrow.parquet as pq
import pytest

from leakscope.commands.report import report
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.words import spans, words
from leakscope.leakage.hardening.hardened_points import harden_run
from leakscope.models.subword.loading import load_causal
from leakscope.records.runs.report_settings import ReportSettings
from saved_causal import saved
from tiny_causal import documents, spoken

THRESHOLDS = (1.5, 2.5, 6.0)


def widened(text, number):
    """The same words, some of them behind two spaces or a new line."""
    gaps = ("  ", " ", "\n", " ", "\n\n")
    said = text.split(" ")
    return "".join(
        word + gaps[(number + place) % len(gaps)] for place, word in enumerate(said)
    ).rstrip()


@pytest.fixture
def corpus(tmp_path):
    net, tok = saved(tmp_path / "m", "gpt2", "bytes", seed=3)
    texts = [text for text in spoken(net, tok, documents=60, length=30) if len(spans(text)) > 2]
    wide = [widened(text, number) for number, text in enumerate(texts)]
    rows = [Row(f"u{index % 4}", text) for index, text in enumerate([*wide, *texts[:20]])]
    return build_rows(
        rows, tmp_path / "c", settings=BuildSettings(validation=0.2), split_given=True
    )


def test_a_report_with_confidence_equals_harden_on_the_plain_run(corpus, tmp_path):
    def fresh(name, **asked):
        settings = ReportSettings(least_context=0, **asked)
        return report(tmp_path / "m", corpus.path, tmp_path / name, settings, threads=1).metrics

    fresh("plain", top_k=3)
    points = harden_run(tmp_path / "plain", corpus, THRESHOLDS)
    assert len(points) == 3 * (len(THRESHOLDS) + 1)
    stricter = 0
    for number, point in enumerate(points):
        again = fresh(f"fresh-{number}", top_k=point.top_k, confidence=point.threshold)
        assert point.unique_sequences == again.unique_sequences
        assert point.users_with_unique == again.users_with_unique
        if point.threshold is not None:
            assert point.validation_accuracy == again.validation_accuracy[point.top_k]
            assert point.answered == again.answered
            stricter += 0 < point.answered < 1 and point.unique_sequences > 0
    assert stricter > 3


def test_the_threshold_is_applied_to_the_original_texts(corpus, tmp_path):
    """What the report lists is what the model says of the texts, white space and all."""
    settings = ReportSettings(top_k=2, confidence=6.0, reveal=True)
    report(tmp_path / "m", corpus.path, tmp_path / "r", settings, threads=1)
    model = load_causal(tmp_path / "m")
    texts = [text for part in corpus.documents(texts=True) for text in part.texts]
    listed = pq.read_table(tmp_path / "r" / "sequences.parquet").to_pylist()
    counts = {tuple(row["sequence"]): row["total_in_s"] for row in listed}
    assert counts == runs(model, texts)
    assert counts != runs(model, [" ".join(words(text)) for text in texts])


def runs(model, texts):
    """How often each maximal run of words comes out that are in the top 2 and not silent."""
    packed = documents(texts)
    scores = model.score(packed, top_k=2, every_probability=True)
    found = {}
    for index, text in enumerate(texts):
        here, run = slice(*packed.offsets[index : index + 2]), []
        shown = (scores.rank[here] < 2) & (scores.top_log_prob[here] >= -1.791759469228055)  # log 6
        for word, out in zip([*words(text), ""], [*shown.tolist(), False], strict=True):
            if out:
                run.append(word)
            elif run:
                found[tuple(run)] = found.get(tuple(run), 0) + 1
                run = []
    return found
