"""Cleaning against a few plain lines over all documents at once."""

import json
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.clean_summary import CleanSummary
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.cleaning.sentences import Repeated, pieces, sentence_key
from leakscope.corpus.personal_data.kinds import KINDS
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.store import Corpus
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError

SENTENCES = (
    "The quick brown fox jumps over the dog.",
    "the quick brown FOX jumps over the dog.",
    "we all meet again at the old mill tonight!",
    "Short one.",
    "write to ann@example.org about the new red car.",
    "zebra",
    "call 555-123-4567?",
)
texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).flatmap(
    lambda said: st.sampled_from([" ", "\n"]).map(lambda by: by.join(said))
)
rows_strategy = st.lists(st.tuples(st.sampled_from("abcd"), texts), min_size=1, max_size=20)


def stored(corpus: Corpus) -> list[tuple[str, str, str]]:
    """(user key, split, text) in corpus order."""
    found = []
    for shard in corpus.shards:
        keys = shard.user_keys()
        for split in ("train", "validation"):
            for part in shard.documents(split, texts=True):
                found += [
                    (int(part.numbers[i]), keys[int(part.users[i])], split, part.texts[i])
                    for i in range(len(part))
                ]
    return [row[1:] for row in sorted(found)]


def plainly(documents, options: CleanSettings):
    """All steps but near-duplicates, with everything in memory."""
    said, left = set(), []
    for user, split, text in documents:
        key = (options.across_users or user, *words(text, lowercase=True))
        if split == "train" and options.documents != "none":
            if key in said:
                continue
            said.add(key)
        left.append((user, split, text))
    documents, left, said = left, [], set()
    for user, split, text in documents:
        if split == "train" and options.sentences == "exact":
            keys = [
                (options.across_users or user, sentence_key(piece, options.min_words))
                for piece in pieces(text)
            ]
            again = [key in said and key[1] is not None for key in keys]
            said.update(keys)
            rest = [piece for piece, out in zip(pieces(text), again, strict=True) if not out]
            if rest:
                left.append((user, split, "".join(rest)))
        else:
            left.append((user, split, text))
    if "email" in options.scrub:
        left = [(u, s, t.replace("ann@example.org", "xxEMAILxx")) for u, s, t in left]
    if options.min_users is not None:
        owners = {}
        for user, split, text in left:
            for word in words(text) if split == "train" else ():
                owners.setdefault(word, set()).add(user)
        rare = {word for word, users in owners.items() if len(users) < options.min_users}
        left = [(u, s, [_kept(w, rare, owners) for w in words(text)]) for u, s, text in left]
    return [(u, s, words(t) if isinstance(t, str) else t) for u, s, t in left]


def _kept(word, rare, owners):
    hidden = (word in rare or word not in owners) and word != "xxEMAILxx"
    return "xxRARExx" if hidden else word


@settings(max_examples=60)
@given(
    rows_strategy,
    st.sampled_from(["none", "exact"]),
    st.sampled_from(["none", "exact"]),
    st.booleans(),
    st.sampled_from([(), ("email",)]),
    st.sampled_from([None, 2, 3]),
    st.sampled_from([5, 10**6]),
)
def test_clean_equals_plain_lines(
    tmp_path_factory, pairs, documents, sentences, across, scrub, min_users, shard_words
):
    if not (documents != "none" or sentences != "none" or scrub or min_users):
        return
    folder = tmp_path_factory.mktemp("clean")
    how = BuildSettings(validation=0.3, shard_words=shard_words)
    try:
        old = build_rows([Row(*pair) for pair in pairs], folder / "old", settings=how)
    except LeakscopeError:
        return  # all of it was held out
    options = CleanSettings(
        documents=documents,
        sentences=sentences,
        across_users=across,
        scrub=scrub,
        min_users=min_users,
    )
    summary = clean(old, folder / "new", options)
    new = Corpus.open(folder / "new")
    before, after = stored(old), stored(new)
    expected = plainly(before, options)
    assert [(u, s, words(t)) for u, s, t in after] == expected
    removed = summary.documents.exact.total if summary.documents else 0
    emptied = summary.sentences.emptied if summary.sentences else 0
    assert len(before) - len(after) == removed + emptied
    hidden = sum(said.count("xxEMAILxx") for _, _, said in expected)
    if summary.scrub:
        assert summary.scrub.replaced["email"] == hidden
    if summary.rare_words:
        places = [said.count("xxRARExx") for _, _, said in expected]
        assert summary.rare_words.tokens == sum(places)
        assert summary.rare_words.documents == sum(place > 0 for place in places)
    if not across and summary.documents:
        assert summary.documents.exact.across == 0


BOT = "Automatic notice: all the checks of today have passed."
ROWS = [
    *[("bot1", BOT)] * 5,
    *[("bot2", BOT)] * 3,
    ("ann", "hello there"),
    ("ann", "see you"),
    ("bob", f"So I was told: {BOT} Fine with me, said I."),
]


def by_user(corpus):
    return sorted((user, text) for user, _, text in stored(corpus))


def test_within_a_user_and_across_users(make_corpus, tmp_path):
    old = make_corpus(ROWS)
    within = clean(old, tmp_path / "within", CleanSettings(documents="exact"))
    assert (within.documents.exact.within, within.documents.exact.across) == (4 + 2, 0)
    assert within.documents.users == 2 and within.documents.near is None
    across = clean(old, tmp_path / "x", CleanSettings(documents="exact", across_users=True))
    left = by_user(Corpus.open(tmp_path / "x"))
    assert [text for _, text in left].count(BOT) == 1
    (keeper,) = [user for user, text in left if text == BOT]
    mine = {"bot1": 5, "bot2": 3}
    assert across.documents.exact.within == mine[keeper] - 1
    assert across.documents.exact.across == 8 - mine[keeper]
    assert across.before.users == 4 and across.after.users == 3


def test_near_duplicates_go_and_exact_ones_are_told_apart(make_corpus, tmp_path):
    story = " ".join(f"word{i}" for i in range(60))
    old = make_corpus([("a", story), ("a", story), ("a", story + " end"), ("a", "other words")])
    summary = clean(old, tmp_path / "new", CleanSettings(documents="near"))
    assert summary.documents.exact.within == summary.documents.near.within == 1
    assert [text for _, _, text in stored(Corpus.open(tmp_path / "new"))] == [story, "other words"]


def test_validation_documents_are_no_first_copies_and_stay(tmp_path):
    rows = [Row(f"u{i}", BOT, split="validation" if i % 2 else "train") for i in range(20)]
    old = build_rows(rows, tmp_path / "old", settings=BuildSettings(validation=0.0))
    options = CleanSettings(documents="near", sentences="exact", across_users=True)
    clean(old, tmp_path / "new", options)
    new = Corpus.open(tmp_path / "new").manifest
    assert (new.train.documents, new.validation.documents) == (1, 10)


def test_every_document_keeps_its_split_and_order(make_corpus, tmp_path):
    rows = [(f"u{i % 7}", f"text number {i}" if i % 3 else "again") for i in range(200)]
    old = make_corpus(rows, validation=0.3, shard_words=100)
    clean(old, tmp_path / "new", CleanSettings(documents="exact"))
    before, after = stored(old), stored(Corpus.open(tmp_path / "new"))
    assert 0 < len(after) < len(before)
    unique = [row for row in before if row[2] != "again"]
    assert [row for row in after if row[2] != "again"] == unique
    held = [row for row in before if row[1] == "validation"]
    assert [row for row in after if row[1] == "validation"] == held


def test_nothing_found_gives_the_same_corpus(make_corpus, tmp_path):
    old = make_corpus(ROWS, validation=0.3, lowercase=True, order="users")
    summary = clean(old, tmp_path / "new", CleanSettings(scrub=("ip", "url")))
    new = Corpus.open(tmp_path / "new").manifest
    assert new.digest == old.manifest.digest and new.settings == old.manifest.settings
    assert summary.scrub.replaced == {"ip": 0, "url": 0} and summary.before == summary.after
    assert summary.documents is summary.sentences is summary.rare_words is None
    (origin,) = new.inputs
    assert (origin.format, origin.digest) == ("corpus", old.manifest.digest)


def test_the_account_is_kept_privately(make_corpus, tmp_path):
    old = make_corpus([*ROWS, ("cid", "mail cid@example.org")])
    options = CleanSettings(scrub=("email",), min_users=2, sentences="exact")
    summary = clean(old, tmp_path / "new", options)
    path = tmp_path / "new" / "clean.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert CleanSummary.model_validate_json(path.read_text()).scrub == summary.scrub
    told = json.loads(path.read_text())
    assert told["scrub"] == {"replaced": {"email": 1}, "documents": 1, "users": 1}
    assert told["settings"]["min_users"] == 2 and told["documents"] is None
    assert "cid" not in path.read_text()
    assert not list((tmp_path / "new").rglob(".*"))


def test_rare_placeholders_stay_and_lookalikes_do_not(make_corpus, tmp_path):
    old = make_corpus([("a", "the xxSECRETxx a@b.co"), ("b", "the end")])
    clean(old, tmp_path / "new", CleanSettings(min_users=2, scrub=("email",)))
    texts = {text for _, _, text in stored(Corpus.open(tmp_path / "new"))}
    assert texts == {"the xxRARExx xxEMAILxx", "the xxRARExx"}


def test_rare_words_of_lowercase_corpora_and_cjk(make_corpus, tmp_path):
    old = make_corpus([("a", "The 東京 x"), ("b", "the y"), ("b", "京 y")], lowercase=True)
    summary = clean(old, tmp_path / "new", CleanSettings(min_users=2))
    found = [words(text) for _, _, text in sorted(stored(Corpus.open(tmp_path / "new")))]
    rare = "xxRARExx"
    assert sorted(found) == sorted([["The", rare, "京", rare], ["the", rare], ["京", rare]])
    assert (summary.rare_words.types, summary.rare_words.tokens) == (3, 4)


@pytest.mark.parametrize("stage", ["clean", "count users of words", "compare sentences"])
def test_stopped_it_goes_on(make_corpus, tmp_path, stage):
    def stop(at, done, total=None, note=""):
        if at == stage:
            raise KeyboardInterrupt

    options = CleanSettings(documents="near", sentences="exact", min_users=2)
    with pytest.raises(KeyboardInterrupt):
        clean(make_corpus(ROWS), tmp_path / "new", options, stop)
    assert {path.name for path in (tmp_path / "new").iterdir()} == {".building", ".leakscope"}
    clean(make_corpus(ROWS), tmp_path / "new", options)
    assert not list((tmp_path / "new").rglob(".*"))
    with pytest.raises(LeakscopeError, match="already exists"):
        clean(make_corpus(ROWS), tmp_path / "new", options)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "Nothing to do: choose among --documents exact|near"),
        ({"documents": "some"}, "one of none, exact, near"),
        ({"sentences": "near"}, "one of none, exact"),
        ({"scrub": ("names",)}, "the kinds are"),
        ({"documents": "near", "threshold": 0.0}, "above 0"),
        ({"documents": "near", "threshold": 1.5}, "at most 1"),
        ({"documents": "near", "shingle": 0}, "at least 1"),
        ({"min_users": 1}, "at least 2"),
        ({"documents": "near", "seed": -1}, "at least 0"),
        ({"min_users": 2, "presidio_model": "x"}, "needs --presidio"),
    ],
)
def test_wrong_settings_are_one_sentence(wrong, message):
    with pytest.raises(LeakscopeError) as error:
        CleanSettings(**wrong)
    assert message in str(error.value) and str(error.value).endswith(".")


def test_all_means_every_kind_and_repeats_count_once():
    assert CleanSettings(scrub=("email", "all")).scrub == KINDS
    assert CleanSettings(scrub="all") == CleanSettings(scrub=KINDS)
    assert CleanSettings(scrub=("ip", "url", "ip")).scrub == ("ip", "url")


@given(st.text(st.sampled_from("ab .!?'\n。」…東"), max_size=40))
def test_pieces_join_to_the_text(text):
    assert "".join(pieces(text)) == text and all(pieces(text))


def test_pieces():
    text = 'One. "Two!" Three?! Four 3.5 and\nfive... 六。七！ "End'
    found = [piece.strip() for piece in pieces(text)]
    assert found == ["One.", '"Two!"', "Three?!", "Four 3.5 and", "five...", "六。", "七！", '"End']
    assert len(pieces("." * 100_000 + "!?" * 50_000 + "\n" * 50_000)) == 1


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=10))
def test_repeated_sentences_equal_plain_counting(documents):
    keys = [[bytes([number]) * 16 for number in said] for said in documents]
    repeated = Repeated()
    for said in keys:
        repeated.add(said)
    repeated.finish()
    flat = [key for said in keys for key in said]
    assert all((key in repeated) == (flat.count(key) > 1) for key in flat)
