"""Action lists: what is written is read again, and what is unclear is refused by its line."""

import pytest

from leakscope.records.actions.action_list import read_drop_list, write_action_list
from leakscope.records.errors import LeakscopeError

HEADER = '{"leakscope_actions": 1, "corpus_digest": "abc"}\n'
DROP = '{"action": "drop", "kind": "document", "document": 4}\n'


def test_a_list_says_what_to_drop_and_leaves_the_rest(tmp_path):
    path = tmp_path / "list.jsonl"
    actions = [
        ("drop", "document", {"document": 4, "user": 1, "gone_so_far": 2}),
        ("drop", "user", {"user": "zoë"}),
        ("drop", "user", {"user": 7}),
        ("drop", "user", {"user": "7"}),
        ("review", "user", {"user": 8}),
        ("review", "copies", {"words": ["=1+1"], "user": 3}),
    ]
    write_action_list(path, "abc", actions)
    found = read_drop_list(path)
    assert (found.corpus_digest, found.documents, found.left) == ("abc", {4}, 2)
    assert found.users == {"zoë", 7, "7"}
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "", lines[2], ""]))  # struck out by hand
    assert read_drop_list(path).users == {"zoë"} and not read_drop_list(path).documents


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (HEADER, "drops nothing"),
        (HEADER + '{"action": "review", "kind": "user", "user": 1}\n', "drops nothing"),
        (DROP, "Line 1 of"),
        ("not json\n", "Line 1 of"),
        (HEADER + "\n" + DROP[:-5] + "\n", "Line 3 of"),
        (HEADER + '{"action": "drop", "kind": "document"}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "document", "document": "4"}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "document", "document": true}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "document", "document": -1}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "user", "document": 1}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "user", "user": -1}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "user", "user": 1.5}\n', "Line 2 of"),
        (HEADER + '{"action": "drop", "kind": "copies", "user": 1}\n', "Line 2 of"),
        (HEADER + '{"action": "keep", "kind": "user", "user": 1}\n', "Line 2 of"),
        (HEADER + "[" * 200_000 + "\n", "Line 2 of"),
        (HEADER + '{"action": "' + "x" * (1 << 20) + '"}\n', "Line 2 of"),
        (HEADER.replace("1", "2", 1) + DROP, "list format 2"),
    ],
)
def test_what_is_unclear_is_refused(tmp_path, content, says):
    path = tmp_path / "list.jsonl"
    path.write_text(content)
    with pytest.raises(LeakscopeError, match=says) as refused:
        read_drop_list(path)
    assert len(str(refused.value)) < 400


def test_a_list_is_a_file(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(LeakscopeError, match="is not a file"):
            read_drop_list(path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    with pytest.raises(LeakscopeError, match="Line 1 of"):
        read_drop_list(tmp_path / "bytes")
