"""`corpus clean --drop` against plain filtering, and lists that do not fit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import ALL, TRAIN, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.records.actions.action_list import write_action_list
from leakscope.records.errors import LeakscopeError

USERS = ("ann", "bob", "cid", "dee")


def rows_of(corpus):
    """(number, user, key, split, text) of all documents."""
    found = []
    for shard in corpus.shards:
        keys = shard.user_keys()
        for split in (TRAIN, VALIDATION):
            for part in shard.documents(split, texts=True):
                users = part.users.tolist()
                found += [
                    (number, user, keys[user], split, text)
                    for number, user, text in zip(
                        part.numbers.tolist(), users, part.texts, strict=True
                    )
                ]
    return sorted(found)


def drop_list(path, corpus, documents=(), users=(), digest=None):
    actions = [("drop", "document", {"document": number}) for number in documents]
    actions += [("drop", "user", {"user": user}) for user in users]
    actions.append(("review", "user", {"user": 0}))
    write_action_list(path, digest or corpus.manifest.digest, actions)
    return path


@settings(max_examples=25)
@given(st.data())
def test_what_is_left_is_what_no_list_names(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("drop")
    said = data.draw(st.lists(st.sampled_from(USERS), min_size=6, max_size=25))
    how = BuildSettings(validation=0.2, shard_words=data.draw(st.sampled_from([3, 1000])))
    rows = [Row(user, f"word {number}") for number, user in enumerate([*said, *USERS])]
    corpus = build_rows(rows, folder / "c", settings=how)
    before = rows_of(corpus)
    numbers = st.sets(st.integers(0, len(before) - 1), max_size=6)
    one, two = data.draw(numbers), data.draw(numbers)
    keys, places = data.draw(st.sets(st.sampled_from(USERS), max_size=2)), {0}
    left = [
        each for each in before if each[0] not in one | two and each[2] not in keys and each[1] != 0
    ]
    lists = [
        drop_list(folder / "1", corpus, one, [*keys, "ann"] if "ann" in keys else keys),
        drop_list(folder / "2", corpus, two, places),
    ]
    asked = CleanSettings(drop=lists if one or keys else lists[1:])
    if not any(each[3] == TRAIN for each in left):
        with pytest.raises(LeakscopeError, match="would drop every training document"):
            clean(corpus, folder / "d", asked)
        assert not (folder / "d").exists()
        return
    summary = clean(corpus, folder / "d", asked)
    after = rows_of(Corpus.open(folder / "d"))
    assert [each[2:] for each in after] == [each[2:] for each in left]
    gone = [each for each in before if each not in left]
    told = summary.dropped
    assert told.named + told.of_named_users == len(gone)
    assert told.named == len(one | two)
    assert told.training == sum(each[3] == TRAIN for each in gone)
    assert told.users == len({each[1] for each in gone})
    assert told.named_users == len({each[1] for each in before if each[2] in keys} | places)
    assert told.left == len(asked.drop)


def corpus_of(tmp_path, texts):
    rows = [Row("ann" if number % 2 else "bob", text) for number, text in enumerate(texts)]
    return build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))


def test_a_copy_stays_when_its_original_is_dropped(tmp_path):
    corpus = corpus_of(tmp_path, ["same words here", "x y", "same words here", "x y"])
    first = min(number for number, *_, text in rows_of(corpus) if text == "same words here")
    lists = drop_list(tmp_path / "l", corpus, [first])
    summary = clean(corpus, tmp_path / "d", CleanSettings(drop=lists, documents="near"))
    assert [text for *_, text in rows_of(Corpus.open(tmp_path / "d"))].count("same words here") == 1
    assert summary.dropped.named == 1 and summary.documents.exact.total == 1


def test_the_account_names_lists_by_name_and_digest(tmp_path):
    corpus = corpus_of(tmp_path, ["a b", "c d", "e f"])
    (tmp_path / "jdoe").mkdir()
    lists = drop_list(tmp_path / "jdoe" / "list.jsonl", corpus, [0])
    clean(corpus, tmp_path / "d", CleanSettings(drop=(lists,)))
    told = (tmp_path / "d" / "clean.json").read_text()
    assert '"list.jsonl"' in told and "jdoe" not in told
    again = Corpus.open(tmp_path / "d")
    assert again.counts(ALL).documents == 2
    with pytest.raises(LeakscopeError, match="about another corpus"):
        clean(again, tmp_path / "e", CleanSettings(drop=(lists,)))
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"documents": [0, 3]}, "drops document 3, but the corpus has documents 0 to 2"),
        ({"documents": [10**30]}, "the corpus has documents 0 to 2"),
        ({"users": ["secret-key"]}, "drops a user whom the corpus does not have"),
        ({"users": [2]}, "drops a user whom the corpus does not have"),
        ({"users": ["0"]}, "drops a user whom the corpus does not have"),
        ({"documents": [0, 1, 2]}, "would drop every training document"),
        ({"users": ["ann", 0, 1]}, "would drop every training document"),
        ({"documents": [0], "digest": "other"}, "about another corpus"),
    ],
)
def test_lists_that_do_not_fit_are_refused(tmp_path, named, says):
    corpus = corpus_of(tmp_path, ["a b", "c d", "e f"])
    lists = drop_list(tmp_path / "l", corpus, **named)
    with pytest.raises(LeakscopeError, match=says) as refused:
        clean(corpus, tmp_path / "d", CleanSettings(drop=(lists,)))
    assert "secret-key" not in str(refused.value)
    assert not (tmp_path / "d").exists()
