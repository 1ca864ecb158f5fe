"""The plain reference of `corpus build`: everything in memory, in a few lines of Python."""

import hashlib
from collections import Counter, defaultdict
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.lexicon import words_digest
from leakscope.corpus.parts.python_rows import row_problem
from leakscope.corpus.shard_schema import GROUP_CHARACTERS, GROUP_DOCUMENTS, SCHEMA
from leakscope.corpus.split import TRAIN, VALIDATION, in_validation, split_named
from leakscope.corpus.words import words


def plain_build(rows, out, settings):
    """Write lexicon and shards; give (digest, lexicon digest, rows set aside, counts of the parts,
    most words of a user).
    """
    aside, usable = Counter(), []
    for row in rows:
        problem = row.problem or row_problem(row, settings)
        if problem is None:
            usable.append(row)
        else:
            aside[problem] += 1
    usable.sort(key=lambda row: (_user_hash(row.user), row.user))
    documents = [
        _document(number, index, row, settings)
        for number, (_, own) in enumerate(groupby(usable, key=lambda row: row.user))
        for index, row in enumerate(own)
    ]
    ranked, counts, users = _lexicon(documents, settings.order)
    ids = {word: id for id, word in enumerate(ranked)}
    out.mkdir()
    _write(
        out / "lexicon.parquet",
        pa.schema([("id", pa.int32()), ("word", pa.large_string())])
        .append(pa.field("count", pa.int64()))
        .append(pa.field("users", pa.int64())),
        [
            {"id": id, "word": word, "count": counts[word], "users": len(users[word])}
            for id, word in enumerate(ranked)
        ],
    )
    for number, document in enumerate(documents):
        document["document"] = number
        document["words"] = [ids[word] for word in document["words"]]
    for number, shard in enumerate(_shards(documents, settings.shard_words)):
        _write(out / "shards" / f"{number:05d}.parquet", SCHEMA, *shard)
    sizes = Counter()
    for document in documents:
        sizes[document["user"]] += len(document["words"])
    parts = {
        part: (
            len({d["user"] for d in documents if d["split"] == part}),
            sum(d["split"] == part for d in documents),
            sum(len(d["words"]) for d in documents if d["split"] == part),
        )
        for part in (TRAIN, VALIDATION)
    }
    return _digest(documents), words_digest(ranked), aside, parts, max(sizes.values())


def _user_hash(user):
    return hashlib.blake2b(user.encode(), digest_size=8).digest()


def _document(number, index, row, settings):
    held = in_validation(settings.validation, settings.split_by, settings.seed, row.user, index)
    drawn = VALIDATION if held else TRAIN
    input, place = row.origin or (None, None)
    return {
        "user": number,
        "user_key": row.user,
        "split": drawn if row.split is None else split_named(row.split),
        "words": words(row.text, lowercase=settings.lowercase),
        "text": row.text,
        "input": input,
        "row": place,
    }


def _lexicon(documents, order):
    counts, users = Counter(), defaultdict(set)
    for document in documents:
        for word in document["words"]:
            counts[word] += document["split"] == TRAIN
            users[word] |= {document["user"]} if document["split"] == TRAIN else set()

    def key(word):
        first, second = counts[word], len(users[word])
        return (-first, -second, word) if order == "frequency" else (-second, -first, word)

    return sorted(counts, key=key), counts, users


def _shards(documents, shard_words):
    """Row groups by shard."""
    shard, group, said = [], [], 0
    for place, document in enumerate(documents):
        group.append(document)
        said += len(document["words"])
        if len(group) >= GROUP_DOCUMENTS or sum(len(d["text"]) for d in group) >= GROUP_CHARACTERS:
            shard.append(group)
            group = []
        last = place + 1 == len(documents) or documents[place + 1]["user"] != document["user"]
        if last and said >= shard_words:
            yield [*shard, group] if group else shard
            shard, group, said = [], [], 0
    if shard or group:
        yield [*shard, group] if group else shard


def _write(path, schema, *groups):
    path.parent.mkdir(exist_ok=True)
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for group in groups:
            writer.write_table(pa.Table.from_pylist(group, schema))


def _digest(documents):
    digest = hashlib.blake2b(digest_size=16)
    for document in documents:
        for part in (document["user_key"], document["split"], document["text"]):
            data = part.encode()
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def files_of(folder):
    """The bytes of the lexicon and of the shards, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.parquet"))
    }


def as_array(texts):
    """Texts as UTF-8, one after the other, and where each begins."""
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets.astype(np.int64)
