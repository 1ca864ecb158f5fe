"""Reports on Hugging Face models: the same report, in the same words."""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_subject import subject_of
from leakscope.auditing.public_settings import PublicSettings
from leakscope.commands.compare import compare
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.words import spans, words
from leakscope.leakage.run_directory import is_same_run
from leakscope.models.subword.loading import load_causal
from leakscope.models.word.architecture import Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.training.train_settings import TrainSettings
from tiny_causal import documents, fluent, network, spoken, tokenizer


def saved(path, kind, tokens, seed=0):
    tok = tokenizer(tokens)
    net = fluent(network(kind, len(tok), seed), tok)
    net.save_pretrained(path)
    tok.save_pretrained(path)
    return net, tok


@pytest.fixture
def spoken_corpus(tmp_path):
    net, tok = saved(tmp_path / "m", "llama", "pieces")
    texts = [text for text in spoken(net, tok, documents=60, length=30) if spans(text)]
    rows = [Row(f"u{index % 4}", text) for index, text in enumerate(texts)]
    return build_rows(
        rows, tmp_path / "c", settings=BuildSettings(validation=0.2), split_given=True
    )


def hits(model, texts, k):
    """For each text, which of its words are correct."""
    found = model.score(documents(texts), top_k=k).rank < k
    offsets = documents(texts).offsets
    return [found[offsets[i] : offsets[i + 1]].tolist() for i in range(len(texts))]


def runs_of(text, correct):
    said, found, run = words(text), [], []
    for place, word in enumerate(said):
        if correct[place]:
            run.append(word)
        if run and (not correct[place] or place == len(said) - 1):
            found.append(tuple(run))
            run = []
    return found


def test_the_report_is_in_words_and_least_contexts_are_the_texts_own(spoken_corpus, tmp_path):
    k = 2
    asked = ReportSettings(top_k=k, reveal=True, contexts=100, context_words=100)
    metrics = report(tmp_path / "m", spoken_corpus.path, tmp_path / "r", asked, threads=1).metrics
    model = load_causal(tmp_path / "m")
    texts = [text for part in spoken_corpus.documents(texts=True) for text in part.texts]
    expected = Counter(
        run
        for text, correct in zip(texts, hits(model, texts, k), strict=True)
        for run in runs_of(text, correct)
    )
    rows = pq.read_table(tmp_path / "r" / "sequences.parquet").to_pylist()
    assert {tuple(row["sequence"]): row["total_in_s"] for row in rows} == expected
    assert metrics.unique_sequences > 3 and metrics.validation_perplexity > 1
    assert 0 <= metrics.validation_accuracy[k] <= 1
    looked = 0
    for row in rows:
        if row["users_in_d"] != 1 or not row["least_context_exact"]:
            continue
        size = row["length"]
        tried = []
        for text in texts:
            edges, said = spans(text), words(text)
            for at in range(len(said) - size + 1):
                if said[at : at + size] == row["sequence"] and said[:at] in row["contexts"]:
                    tails = [text[edges[b][0] : edges[at + size - 1][1]] for b in range(at + 1)]
                    tried += [(at - b, tail) for b, tail in enumerate(tails)]
        comes = hits(model, [tail for _, tail in tried], k)
        out = [n for (n, _), each in zip(tried, comes, strict=True) if all(each[-size:])]
        # After its whole context it came out: that was measured, in the whole text.
        assert row["least_context"] == min([*out, *row["context_lengths"]])
        looked += 1
    assert looked > 2


def test_a_run_is_the_same_only_if_every_deciding_file_is(spoken_corpus, tmp_path):
    how, asked = LoadingSettings(device="cpu", threads=1), ReportSettings(top_k=2)
    report(tmp_path / "m", spoken_corpus.path, tmp_path / "r", asked, threads=1)

    def same():
        found = subject_of(tmp_path / "m", spoken_corpus, how, name=None, block_list=None)
        return is_same_run(tmp_path / "r", found, spoken_corpus, asked)

    assert same()
    (tmp_path / "m" / "README.md").write_text("unrelated")
    (tmp_path / "m" / "generation_config.json").write_text("{}")
    assert same()
    for name in ("tokenizer_config.json", "config.json"):
        path = tmp_path / "m" / name
        content = path.read_text()
        path.write_text(content + " ")
        assert not same()
        path.write_text(content)
        assert same()


def test_a_base_model_judges_and_a_word_model_stands_beside(spoken_corpus, tmp_path):
    saved(tmp_path / "p", "gpt2", "bytes", 3)
    public = PublicSettings(str(tmp_path / "p"))
    asked = ReportSettings(top_k=2, benchmark=True)
    metrics = report(
        tmp_path / "m", spoken_corpus.path, tmp_path / "r", asked, public, threads=1
    ).metrics
    assert metrics.leakage_epsilon > 0 and metrics.public_unique_sequences is not None
    manifest, _ = open_run(tmp_path / "r")
    assert manifest.model.architecture.kind == "llama" and manifest.public.name == "p"
    tiny = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=50, epochs=1, batch_size=4)
    train(spoken_corpus.path, tmp_path / "g", tiny)
    crossfit = PublicSettings("crossfit", folds=2)
    asked = ReportSettings(top_k=2)
    report(tmp_path / "g", spoken_corpus.path, tmp_path / "rg", asked, crossfit, threads=1)
    folds = tmp_path / "g" / "public" / "crossfit-2"
    names = [run.label for run in compare([tmp_path / "r", tmp_path / "rg"], tmp_path / "out")]
    assert names == ["m", "g"] and (tmp_path / "out" / "compare.html").exists()
    # A word-level model judges a sub-word one, wherever that keeps its weights.
    (tmp_path / "m" / "model.safetensors").rename(
        tmp_path / "m" / "model-00001-of-00001.safetensors"
    )
    names = load_file(tmp_path / "m" / "model-00001-of-00001.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, "model-00001-of-00001.safetensors")}
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
    for number, what in enumerate((str(tmp_path / "g"), str(folds))):
        out = tmp_path / f"by-words-{number}"
        found = report(
            tmp_path / "m", spoken_corpus.path, out, ReportSettings(top_k=2, least_context=0),
            PublicSettings(what), threads=1,
        ).metrics  # fmt: skip
        assert found.leakage_epsilon > 0
    # And the other way round: a word-level model judged by a sub-word one.
    judged = report(
        tmp_path / "g", spoken_corpus.path, tmp_path / "r2", ReportSettings(top_k=3),
        public, threads=1,
    ).metrics  # fmt: skip
    assert judged.unique_sequences == 0 or judged.leakage_epsilon > 0


def test_batches_change_nothing_and_what_cannot_be_is_said(spoken_corpus, tmp_path):
    found = []
    for number, size in enumerate((1, 64, "auto")):
        out = tmp_path / f"r{number}"
        how = LoadingSettings(batch_tokens=size)
        asked = ReportSettings(top_k=3, reveal=True)
        report(tmp_path / "m", spoken_corpus.path, out, asked, how, threads=1)
        table = pq.read_table(out / "sequences.parquet", columns=["sequence", "total_in_s"])
        found.append(table.to_pylist())
    assert found[0] == found[1] == found[2]
    retrain = PublicSettings("retrain")
    with pytest.raises(LeakscopeError, match="such as its base"):
        report(tmp_path / "m", spoken_corpus.path, tmp_path / "x", retrain)
    with pytest.raises(LeakscopeError, match="not an adapter"):
        how = LoadingSettings(base=tmp_path / "m")
        report(tmp_path / "m", spoken_corpus.path, tmp_path / "x", how)
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(LeakscopeError, match="no weights"):
        report(tmp_path / "m", spoken_corpus.path, tmp_path / "x", PublicSettings(str(bare)))
    assert not (tmp_path / "x" / "manifest.json").exists()
    with pytest.raises(LeakscopeError, match="no dtype"):
        how = LoadingSettings(dtype="int4")
        report(tmp_path / "m", spoken_corpus.path, tmp_path / "x", how)


TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content.split('##')[-1] }}"
    "{{ eos_token }}{% endfor %}"
)


def test_documents_as_messages_of_a_chat(tmp_path):
    net, tok = saved(tmp_path / "m", "llama", "pieces")
    texts = [text for text in spoken(net, tok, documents=30, length=20) if spans(text)]
    rows = [Row(f"u{index % 4}", text) for index, text in enumerate([*texts, "the ## cat"])]
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    asked = ReportSettings(top_k=2, reveal=True)
    with pytest.raises(LeakscopeError, match="has no chat template"):
        report(
            tmp_path / "m",
            corpus.path,
            tmp_path / "x",
            asked,
            LoadingSettings(chat_template="user"),
        )
    tok.chat_template = TEMPLATE
    tok.save_pretrained(tmp_path / "m")
    saved(tmp_path / "p", "gpt2", "bytes", 3)  # has no template, and needs none
    public, digests = PublicSettings(str(tmp_path / "p")), set()
    for role in (None, "assistant", "user"):
        out = tmp_path / f"r-{role}"
        how = LoadingSettings(chat_template=role)
        report(tmp_path / "m", corpus.path, out, asked, public, how, threads=1)
        manifest, _ = open_run(out)
        digests.add(manifest.model_digest)
        record = manifest.model.chat_template
        assert (record is None) == (role is None)
        model = load_causal(tmp_path / "m")
        if role is not None:
            assert (record.role, record.altered_documents) == (role, 1)
            model = model.chatting(role)
        said = [text for part in corpus.documents(texts=True) for text in part.texts]
        expected = Counter(
            run
            for text, correct in zip(said, hits(model, said, 2), strict=True)
            for run in runs_of(text, correct)
        )
        found = pq.read_table(out / "sequences.parquet").to_pylist()
        assert {tuple(row["sequence"]): row["total_in_s"] for row in found} == expected
    assert len(digests) == 3
    with pytest.raises(LeakscopeError, match="assistant or user"):
        report(
            tmp_path / "m",
            corpus.path,
            tmp_path / "x",
            asked,
            LoadingSettings(chat_template="system"),
        )
    tiny = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=50, epochs=1, batch_size=4)
    train(corpus.path, tmp_path / "g", tiny)
    with pytest.raises(LeakscopeError, match="word-level model has no chat template"):
        report(
            tmp_path / "g",
            corpus.path,
            tmp_path / "x",
            asked,
            LoadingSettings(chat_template="user"),
        )
