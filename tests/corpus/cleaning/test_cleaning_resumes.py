"""A cleaning that was stopped goes on: what it has learned, cleaned and built is used again."""

import random
import stat

import pytest

from killed_replacements import killed_at, replacements
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building import builder
from leakscope.corpus.building.builder import BUILDING, build_rows
from leakscope.corpus.cleaning import cleaner, duplicate_drops
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.cleaning.steps import DropSentences, ReplaceRare, Scrub
from leakscope.corpus.readers.rows import Row
from leakscope.records.actions.action_list import write_action_list
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from stopped_calls import StoppedCalls, contents, flip
from told_damage import ToldDamage, named_of

ALL = CleanSettings(documents="near", sentences="exact", min_words=4, scrub=("email",), min_users=2)


class Small(BuildResources):
    run_bytes = 4000
    piece_bytes = 3000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(builder, "BuildResources", lambda: Small(threads=1))


@pytest.fixture
def corpus(tmp_path):
    draw = random.Random(5)
    words = [f"w{letter}{other}" for letter in "abcdef" for other in "uvxyz"]
    said = [" ".join(draw.choices(words, k=draw.randrange(5, 9))) + "." for _ in range(80)]
    rows = [
        Row(f"u{n % 9}", " ".join(draw.choices(said, k=4)) + f" me{n}@example.org once{n}")
        for n in range(180)
    ]
    rows += [rows[3], rows[12], Row("u1", rows[1].text), Row("u1", rows[1].text)]
    return build_rows(
        rows, tmp_path / "old", settings=BuildSettings(validation=0.2, shard_words=900)
    )


def cleaned(corpus, out, settings=ALL, **given):
    clean(corpus, out, settings, **given)
    return contents(out)


def killed(call, corpus, out, settings=ALL):
    return killed_at(call, lambda: cleaned(corpus, out, settings))


def test_killed_at_every_kind_of_moment_it_ends_with_the_same_bytes(corpus, tmp_path):
    total = replacements(lambda: cleaned(corpus, tmp_path / "quiet"))
    quiet, kills = contents(tmp_path / "quiet"), 0
    assert {"clean.json", "seal.txt"} < set(quiet) and not any(BUILDING in name for name in quiet)
    for call in sorted({*range(0, total, max(total // 12, 1)), *range(total - 8, total)}):
        out = tmp_path / f"killed-{call}"
        if killed(call, corpus, out):
            kills += 1
            cleaned(corpus, out)
        assert contents(out) == quiet, call
        assert not (out / MARKER).exists()
    assert kills > 16


CALLS = (
    (duplicate_drops, "near_duplicates"),
    (DropSentences, "learned"),
    (ReplaceRare, "learned"),
    (Scrub, "apply"),
)


def counted(monkeypatch):
    """How often each of the costly functions is called from now on."""
    found = {}
    for owner, name in CALLS:
        found[owner.__name__] = calls = StoppedCalls(getattr(owner, name))
        monkeypatch.setattr(owner, name, lambda *given, to=calls, **more: to(*given, **more))
    return found


@pytest.mark.parametrize(
    ("stage", "done", "again"),
    [
        ("compare sentences", 0, {DropSentences, ReplaceRare, Scrub}),
        ("count users of words", 0, {ReplaceRare, Scrub}),
        ("clean", 0, {Scrub}),
        ("number words", None, set()),
        ("write shards", None, set()),
    ],
)
def test_what_is_finished_is_not_done_again(corpus, tmp_path, monkeypatch, stage, done, again):
    def stop(at, so_far, total=None, note=""):
        if at == stage and so_far == (total if done is None else done):
            raise KeyboardInterrupt

    out = tmp_path / "new"
    with pytest.raises(KeyboardInterrupt):
        cleaned(corpus, out, progress=stop)
    inside = [path for path in out.rglob("*") if path.name != MARKER]
    assert {stat.S_IMODE(p.stat().st_mode) for p in inside if p.is_file()} == {0o600}
    with monkeypatch.context() as patch:
        calls = counted(patch)
        found = cleaned(corpus, out)
    assert {name for name, each in calls.items() if each.count} == {each.__name__ for each in again}
    assert found == cleaned(corpus, tmp_path / "quiet")


def test_a_flipped_bit_in_what_is_kept_is_found_and_that_made_again(corpus, tmp_path):
    total = replacements(lambda: cleaned(corpus, tmp_path / "quiet"))
    quiet = contents(tmp_path / "quiet")
    for turn in range(12):
        draw, out = random.Random(turn), tmp_path / f"killed-{turn}"
        killed(round(total * (0.2 + 0.06 * turn)), corpus, out)
        files = sorted(path for path in (out / BUILDING).iterdir() if path.is_file())
        damaged = draw.choice([path for path in files if path.suffix != ".seal"])
        others = {p: p.stat().st_ino for p in (out / BUILDING).glob("rows-*") if p != damaged}
        flip(damaged, draw.randrange(10**6))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cleaner.KeptFindings, "remove", lambda self: None)
            told = ToldDamage()
            cleaned(corpus, out, progress=told)
        assert told.names == named_of(damaged, files)
        whole = {path for path in others if path.suffix != ".seal"}
        kept = {path for path in whole if path.stat().st_ino == others[path]}
        assert kept == whole, damaged.name
        remains = contents(out)
        assert {n: d for n, d in remains.items() if not n.startswith(BUILDING)} == quiet


@pytest.mark.parametrize(
    "changes",
    [
        {"min_users": 3},
        {"scrub": ()},
        {"documents": "exact"},
        {"threshold": 0.5},
        {"min_words": 6},
        {"across_users": True},
        {"seed": 4},
        {"drop": 7},
        {"corpus": True},
    ],
)
def test_with_another_setting_list_or_corpus_nothing_is_stale(corpus, tmp_path, changes):
    def options(document=None):
        told = {name: value for name, value in changes.items() if name not in ("corpus", "drop")}
        if document is not None:
            actions = [("drop", "document", {"document": document})]
            write_action_list(tmp_path / "list.jsonl", corpus.manifest.digest, actions)
            told["drop"] = (tmp_path / "list.jsonl",)
        return CleanSettings(**({**vars(ALL), **told}))

    total = replacements(lambda: cleaned(corpus, tmp_path / "counted"))
    other = corpus
    if "corpus" in changes:  # of the same digest: only where rows come from is another
        rows = [
            Row(shard.user_keys()[int(part.users[i])], part.texts[i], split=split, accepted=True)
            for shard in corpus.shards
            for split in ("train", "validation")
            for part in shard.documents(split, texts=True)
            for i in range(len(part))
        ]
        other = build_rows(rows, tmp_path / "other" / "old", settings=corpus.manifest.settings)
    fresh = None
    for share in (0.5, 0.9):
        out = tmp_path / f"killed-{share}"
        before = options(3) if "drop" in changes else ALL  # the same name, another content
        killed(int(total * share), corpus, out, before)
        asked = options(changes.get("drop"))
        fresh = fresh or cleaned(other, tmp_path / "fresh", asked)
        assert cleaned(other, out, asked) == fresh, share


def test_killed_while_it_tidied_up_it_is_finished(corpus, tmp_path, monkeypatch):
    def stop(*_given):
        raise KeyboardInterrupt

    out = tmp_path / "new"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(cleaner.KeptFindings, "remove", stop)
        cleaned(corpus, out)
    with pytest.raises(LeakscopeError, match="already exists"):
        cleaned(corpus, out, CleanSettings(min_users=3))
    assert cleaned(corpus, out) == cleaned(corpus, tmp_path / "quiet")
    assert not (out / BUILDING).exists() and not (out / MARKER).exists()


def test_an_input_that_cannot_be_cleaned_leaves_nothing(tmp_path):
    corpus = build_rows([Row("a", "x y")], tmp_path / "old", settings=BuildSettings(validation=0.0))
    everything = [("drop", "document", {"document": 0})]
    write_action_list(tmp_path / "list.jsonl", corpus.manifest.digest, everything)
    with pytest.raises(LeakscopeError, match="every training document"):
        clean(corpus, tmp_path / "new", CleanSettings(drop=(tmp_path / "list.jsonl",)))
    assert not (tmp_path / "new").exists()
