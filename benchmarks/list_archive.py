"""`python -m benchmarks.list_archive TABLE FOLDER`: whose letters a list archive's are.

TABLE is a Parquet file with `addr`, `name`, `text` and `user` for every letter, such as
r-package-devel. FOLDER gets the mbox that pipermail would have written, and its corpus.
`python -m benchmarks.list_archive charsets TABLE...` guesses the charsets of their texts.
"""

import re
import sys
from collections import defaultdict
from email.header import decode_header, make_header
from pathlib import Path

import pyarrow.parquet as pq

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build
from leakscope.corpus.readers.mail import strip_reply

FORMS = ("@end|ng |rom", "@ending from", "m@iii@g oii", "m@ili@g off")


def spelled(address):
    """An address of the table, whose spaces are gone, as the archive has it."""
    for form in FORMS:
        local, found, domain = address.rpartition(form.replace(" ", ""))
        if found:
            return f"{local} {form} {domain}"
    return address.replace("@", " at ")


def write_archive(rows, path):
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            name = f" ({row['name']})" if row["name"] else ""
            body = re.sub(r"(?m)^(>*From )", r">\1", row["text"])
            head = f"From x Thu Jan  1 00:00:00 2020\nFrom: {spelled(row['addr'])}{name}\n\n"
            file.write(f"{head}{body}\n\n")


def name_words(written):
    """The words of a full name; none if it is an address, or one word."""
    if not written or "@" in written or " at " in written:
        return frozenset()
    text = str(make_header(decode_header(written))).casefold()
    words = frozenset(word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 1)
    return words if len(words) > 1 else frozenset()


def groups(names):
    """How many of the names have no word in common."""
    found = []
    for name in filter(None, names):
        apart = [group for group in found if not group & name]
        found = [*apart, name.union(*(group for group in found if group & name))]
    return len(found)


def show_users(table, folder):
    rows = pq.read_table(table, columns=["addr", "name", "text", "user"]).to_pylist()
    folder.mkdir(parents=True, exist_ok=True)
    write_archive(rows, folder / "archive.mbox")
    corpus = build(folder / "archive.mbox", folder / "corpus", settings=BuildSettings(validation=0))
    senders = defaultdict(set)  # a text that several people wrote says nothing
    for row in rows:
        senders[strip_reply(row["text"])].add((name_words(row["name"]), row["user"]))
    documents, names, people = defaultdict(int), defaultdict(set), defaultdict(set)
    for shard in sorted((folder / "corpus" / "shards").glob("*.parquet")):
        for row in pq.read_table(shard, columns=["user_key", "text"]).to_pylist():
            key = row["user_key"]
            documents[key] += 1
            if len(senders[row["text"]]) == 1:
                ((name, person),) = senders[row["text"]]
                names[key].add(name)
                people[person].add(key)
    shared = [key for key in documents if groups(names[key]) > 1]
    pieces = [k for k in documents if "@" in k and not re.fullmatch(r"[^\s@|]+@[^\s@|]+", k)]
    manifest = corpus.manifest
    print("users", manifest.users, "documents", manifest.train.documents)
    print("set aside", manifest.set_aside, "doubtful", getattr(manifest, "doubtful", "not known"))
    print("keys that are no whole address", len(pieces), sum(documents[key] for key in pieces))
    print("keys that unrelated names share", len(shared), sum(documents[key] for key in shared))
    print("their names", sum(groups(names[key]) for key in shared))
    print("documents of the largest user", max(documents.values()))
    print("people with several keys", sum(len(keys) > 1 for keys in people.values()))


def show_charsets(tables):
    from charset_normalizer import from_bytes  # noqa: PLC0415

    # Users can be shown of versions that had no such file.
    from leakscope.corpus.letters.charset_guess import WESTERN, guess_text  # noqa: PLC0415

    texts = [text for table in tables for text in pq.read_table(table)["text"].to_pylist()]
    for charset in WESTERN:
        counts = dict.fromkeys(("texts", "right", "set aside", "statistics", "of two"), 0)
        for text in texts:
            try:
                data = text.encode(charset)
                data.decode()
            except UnicodeEncodeError:
                continue
            except UnicodeDecodeError:
                guessed = guess_text(data)
                lines = b"\n".join(line for line in data.splitlines() if not line.isascii())
                two = from_bytes(lines, cp_isolation=list(WESTERN)).best()
                every = from_bytes(lines).best()
                counts["texts"] += 1
                counts["right"] += guessed == text
                counts["set aside"] += guessed is None
                counts["statistics"] += (
                    bool(every) and data.decode(every.encoding, "replace") == text
                )
                counts["of two"] += bool(two) and data.decode(two.encoding, "replace") == text
        print(charset, counts)


if __name__ == "__main__":
    if sys.argv[1] == "charsets":
        show_charsets(sys.argv[2:])
    else:
        show_users(sys.argv[1], Path(sys.argv[2]))
