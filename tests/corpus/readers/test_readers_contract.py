"""The same five documents, written in every format, read back the same."""

import csv
import json
import mailbox
import os
import subprocess
import sys
import tracemalloc
from email.message import EmailMessage

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.corpus.readers.detect import FORMATS, detect, read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError

DOCUMENTS = [
    ("ann@example.org", 'Plain words, with a comma and a "quote".'),
    ("bob@example.org", "Été à Zürich: naïve façade"),
    ("ann@example.org", "今日は良い天気です\n二行目"),
    ("carol@example.org", "Emoji 👩‍🔬🎉 here\n\nFrom the start, a line that an mbox escapes."),
    ("bob@example.org", "three\nshort\nlines"),
]
USERS = [user for user, _ in DOCUMENTS]
TEXTS = [text for _, text in DOCUMENTS]


def message(user, text):
    mail = EmailMessage()
    mail["From"] = f"Some One <{user.upper()}>"
    mail["Subject"] = "subject"
    mail.set_content(text + "\n", cte="8bit")
    return mail


def write_jsonl(folder):
    path = folder / "data.jsonl"
    rows = [json.dumps({"user": u, "text": t, "n": 1}, ensure_ascii=False) for u, t in DOCUMENTS]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_csv(folder):
    path = folder / "data.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("n", "text", "user"), *((1, t, u) for u, t in DOCUMENTS)])
    return path


def table():
    return pa.table({"n": [1] * 5, "text": TEXTS, "user": USERS})


def write_parquet(folder):
    path = folder / "data.parquet"
    pq.write_table(table(), path, row_group_size=2)
    return path


def write_arrow(folder):
    path = folder / "data.arrow"
    with pa.ipc.new_file(path, table().schema) as writer:
        writer.write_table(table(), max_chunksize=2)
    return path


def write_mbox(folder):
    path = folder / "data.mbox"
    box = mailbox.mbox(path)
    for user, text in DOCUMENTS:
        box.add(message(user, text))
    box.close()
    return path


def write_maildir(folder):
    path = folder / "maildir"
    for part in ("cur", "new", "tmp"):
        (path / part).mkdir(parents=True)
    for number, (user, text) in enumerate(DOCUMENTS):
        name = f"cur/{number}.host:2,S" if number < 3 else f"new/{number}.host"
        (path / name).write_bytes(message(user, text).as_bytes())
    return path


def write_reddit(folder):
    path = folder / "RC_2019-01"
    rows = [json.dumps({"author": user, "body": text}) for user, text in DOCUMENTS]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def write_git(folder):
    path = folder / "repository"
    subprocess.run(["git", "init", "-q", path], check=True)
    for user, text in reversed(DOCUMENTS):  # git log starts with the newest
        person = {"NAME": "Some One", "EMAIL": user, "DATE": "2020-01-01T00:00:00Z"}
        roles = ("AUTHOR", "COMMITTER")
        names = {f"GIT_{role}_{key}": value for role in roles for key, value in person.items()}
        subprocess.run(
            ["git", "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-"],
            input=text.encode(),
            cwd=path,
            env={**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull},
            check=True,
        )
    return path


WRITERS = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
    "arrow": write_arrow,
    "mbox": write_mbox,
    "maildir": write_maildir,
    "reddit": write_reddit,
    "git": write_git,
}


def test_every_format_has_a_writer():
    assert list(WRITERS) == list(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_documents_come_back(name, tmp_path):
    path = WRITERS[name](tmp_path)
    expected = [Row(user, text) for user, text in DOCUMENTS]
    assert detect(path) == name
    assert list(read(path, InputSettings())) == expected
    assert list(read(path, InputSettings(format=name))) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_a_reader_can_be_left_after_one_row(name, tmp_path):
    rows = read(WRITERS[name](tmp_path), InputSettings())
    assert next(rows) == Row(*DOCUMENTS[0])
    rows.close()


@pytest.mark.parametrize("name", FORMATS)
def test_the_wrong_kind_of_path_is_an_error(name, tmp_path):
    file = tmp_path / "file"
    file.write_text("{}\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (file, folder):
        with pytest.raises(LeakscopeError, match=str(path)):
            list(read(path, InputSettings(format=name)))


def grow(path, name, count):
    """Write `count` documents of 5 kB to a file of the format."""
    texts = [f"{i} " * 1000 for i in range(count)]
    data = pa.table({"user": ["a@x.org"] * count, "text": texts})
    if name == "parquet":
        pq.write_table(data, path, row_group_size=count)
    elif name == "arrow":
        with pa.ipc.new_file(path, data.schema) as writer:
            writer.write_table(data)
    else:
        line = {
            "jsonl": '{{"user": "a@x.org", "text": "{}"}}\n',
            "reddit": '{{"author": "a@x.org", "body": "{}"}}\n',
            "csv": "a@x.org,{}\n",
            "mbox": "From a\nFrom: a@x.org\n\n{}\n\n",
        }[name]
        head = "user,text\n" if name == "csv" else ""
        path.write_text(head + "".join(map(line.format, texts)))


@pytest.mark.parametrize("name", ["jsonl", "reddit", "csv", "mbox", "parquet", "arrow"])
def test_memory_does_not_grow_with_the_input(name, tmp_path, monkeypatch):
    monkeypatch.setattr("leakscope.corpus.readers.table.BATCH", 64)
    grow(tmp_path / "data", name, 2000)
    assert (
        next(read(tmp_path / "data", InputSettings(format=name))).user == "a@x.org"
    )  # imports are not rows
    tracemalloc.start()
    try:
        count = sum(
            row.problem is None for row in read(tmp_path / "data", InputSettings(format=name))
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 2000
    assert peak < 2_000_000  # bytes, of an input of ten million


def test_importing_detect_does_not_import_pyarrow():
    code = "import sys, leakscope.corpus.readers.detect; sys.exit('pyarrow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
