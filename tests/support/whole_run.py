"""`python whole_run.py FOLDER`: most of leakscope, one command after the other, in one process.

It logs everything that any library has to say, so that its output can be searched for text.
"""

import json
import logging
import sys
from pathlib import Path

import leakscope

SECRETS = ("quillon", "zanthar", "vorpalin", "mirthost")
"""Words that one user has each; nothing that is logged or printed may hold one."""
SHAPE = {"arch": "gru", "hidden": 24, "embedding": 16, "batch_size": 8, "learning_rate": 0.02}

STUDY = {"target": [400.0], "users": 4, "schedule": "1,3", "controls": 3, "samples": 200,
         "bootstrap": 10, "evaluations": 1, "group_users": 1}  # fmt: skip


def rows() -> list[dict[str, str]]:
    """Six users who repeat themselves, four of them with a word of their own."""
    words = ["the", "old", "house", "on", "a", "hill", "has", "seen", "many", "long", "winters"]
    found = []
    for user in range(6):
        own = SECRETS[user] if user < len(SECRETS) else "plain"
        for number in range(20):
            part = [words[(user + number * step) % len(words)] for step in range(1, 9)]
            text = " ".join([*part, "my code is", own, own, words[user]])
            found.append({"user": f"user{user}", "text": text})
    return found


def main(folder: Path) -> None:
    logging.basicConfig(level=logging.DEBUG)
    source = folder / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    corpus, model, run = folder / "corpus", folder / "model", folder / "run"
    leakscope.corpus.build(source, corpus, validation=0.2)
    leakscope.train(corpus, model, epochs=6, threads=1, **SHAPE)
    asked = {"public": "crossfit", "folds": 2, "stand_ins": "crossfit", "threads": 1, "top_k": 2}
    leakscope.report(model, corpus, run, **asked)
    leakscope.harden(run, corpus, folder / "hardened")
    leakscope.compare([run, run], folder / "compared")
    leakscope.canary.plant(corpus, folder / "planted", users=4)
    leakscope.train(folder / "planted" / "corpus", folder / "later", epochs=1, threads=1, **SHAPE)
    leakscope.canary.exposure(folder / "later", folder / "planted", folder / "exposed", samples=100)
    leakscope.diff(model, folder / "later", folder / "diff", length=2, width=20)
    leakscope.train(
        corpus,
        folder / "private",
        epochs=1,
        threads=1,
        mitigation="dp",
        target_epsilon=8.0,
        **SHAPE,
    )
    more_commands(folder)
    dry_runs(folder, source)
    sys.stderr.write("done\n")


def more_commands(folder: Path) -> None:
    """What is made of reports, models and corpora, and both studies."""
    model, corpus, run, later = (folder / name for name in ("model", "corpus", "run", "later"))
    leakscope.person(run, folder / "person", user="user1", corpus=corpus)
    leakscope.report(model, corpus, folder / "shown", reveal=True, top_k=2, threads=1)
    leakscope.render(folder / "shown", folder / "redacted", redact=True)
    leakscope.suggest(run, folder / "actions.jsonl", corpus)
    leakscope.corpus.show(corpus, drop=[folder / "actions.jsonl"])
    leakscope.corpus.clean(corpus, folder / "cleaned", drop=[folder / "actions.jsonl"])
    leakscope.corpus.synth(folder / "synth", users=12, words=900)
    leakscope.corpus.build(folder / "synth" / "data.parquet", folder / "of-synth")
    leakscope.train(
        folder / "of-synth", folder / "to-publish", epochs=1, threads=1, mitigation="dp",
        target_epsilon=8.0, vocabulary_users=2, **SHAPE,
    )  # fmt: skip
    leakscope.export(folder / "to-publish", folder.parent / "published", public=True)
    leakscope.canary.attack(later, folder / "planted", folder / "attacked", beam=2)
    leakscope.canary.plant(corpus, folder / "tossed", coins="user", canaries=40)
    claim = {"claimed": 3.0, "delta": 0.001}
    leakscope.train(folder / "tossed" / "corpus", folder / "coins", epochs=1, threads=1, **SHAPE)
    leakscope.canary.bound(folder / "coins", folder / "tossed", folder / "bound", **claim)
    few = {"epochs": 1, "threads": 1, **SHAPE}
    leakscope.study.mitigations(corpus, folder / "mitigations", **few, **STUDY)
    more = {"insertions": "2", "scenario": ["continue"], "length": 2, "width": 20}
    leakscope.study.updates(corpus, folder / "updates", **few, **more)
    leakscope.probe(later, "the old")
    if any(each.is_damaged for each in leakscope.verify(folder)):
        raise AssertionError("something is damaged")


def dry_runs(folder: Path, source: Path) -> None:
    """Forecasts, which must leave everything as it is."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    forecast, model, later = leakscope.forecast, folder / "model", folder / "later"
    planted = folder / "planted"
    forecast.corpus_build(source, out=folder / "next")
    forecast.corpus_clean(folder / "corpus", scrub=["email"])
    forecast.train(folder / "corpus", out=folder / "next", epochs=1, threads=1, **SHAPE)
    forecast.report(model, folder / "corpus", out=folder / "next", public="crossfit", folds=2)
    forecast.canary_exposure(later, planted, out=folder / "next", samples=100)
    forecast.canary_attack(later, planted, out=folder / "next")
    few = {"epochs": 1, "threads": 1, **SHAPE}
    forecast.study_mitigations(folder / "corpus", out=folder / "next", **few, **STUDY)
    forecast.study_updates(folder / "corpus", out=folder / "next", insertions="2", **few)
    forecast.diff(model, later, out=folder / "next", length=2, width=20)
    if before != {path: path.stat().st_mtime_ns for path in folder.rglob("*")}:
        raise AssertionError("a dry run has written something")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
