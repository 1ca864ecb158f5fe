"""Files that `corpus build` is given: empty, cut, of another kind, damaged, bombs, pipes."""

import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from trials.forked import Ended
from trials.odd_files.case import Commands, OddFile, Place, fifo

NAMES = (
    "odd.jsonl", "odd.csv", "odd.parquet", "odd.arrow", "odd.mbox", "odd.jsonl.gz",
    "odd.jsonl.zst", "odd.csv.gz", "RC_2020-01.zst",
)  # fmt: skip
DEEP = "[" * 200_000 + "]" * 200_000
ROW = b'{"user": "ann", "text": "well said"}\n'


def inputs() -> list[OddFile]:
    found = []
    for name in NAMES:
        found.append(OddFile("inputs", f"empty {name}", _written(name, b"")))
        noise = random.Random(name).randbytes(3000)
        found.append(OddFile("inputs", f"noise as {name}", _written(name, noise)))
    for name, data in _whole().items():
        cut = data[: len(data) * 2 // 3]
        found.append(OddFile("inputs", f"{name}, cut", _written(name, cut)))
        spoilt = bytearray(data)
        for place in range(len(data) // 3, len(data), 37):
            spoilt[place] ^= 0xFF
        found.append(OddFile("inputs", f"{name}, spoilt", _written(name, bytes(spoilt))))
    found += [
        OddFile("inputs", "deep JSON", _written("odd.jsonl", f'{{"user": {DEEP}}}'.encode())),
        OddFile("inputs", "two columns of a name", _written("odd.csv", b"user,text,user\na,b,c\n")),
        OddFile("inputs", "keys twice in Parquet", _twice),
        OddFile(
            "inputs", "a quote left open", _written("odd.csv", b'user,text\na,"b\n' + b"c,d\n" * 9)
        ),
        OddFile("inputs", "UTF-16", _written("odd.csv", "user,text\na,b\n".encode("utf-16"))),
        OddFile("inputs", "offsets outside of an Arrow file", _offsets),
        OddFile("inputs", "indices outside of a dictionary", _indices),
        OddFile("inputs", "a dataset that names a file outside", _dataset("../secret.arrow")),
        OddFile("inputs", "a dataset of deep JSON", _deep_dataset),
        OddFile(
            "folders",
            "a pipe as a file",
            lambda place: place.building(fifo(place.folder / "odd.jsonl")),
        ),
        OddFile(
            "folders",
            "a pipe in a maildir",
            _maildir(lambda place, cur: fifo(cur / "1")),
            _one_letter,
        ),
        OddFile("folders", "a link out of a maildir", _maildir(_link), _no_secret),
        OddFile("folders", "a link to a folder outside", _maildir(_link_folder), _no_secret),
        OddFile(
            "folders",
            "a link in a circle",
            _maildir(lambda place, cur: (cur / "1").symlink_to("1")),
        ),
        OddFile("folders", "a dataset with a link in a circle", _circling_dataset),
        OddFile("folders", "a dataset with a pipe", _piped_dataset),
        OddFile("folders", "a folder that links to itself", _circle),
    ]
    return found


def bombs() -> list[OddFile]:
    zeros, packed = bytes(1 << 24), io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as file:
        for _ in range(20):
            file.write(zeros)
    lines = gzip.compress(b"\n" * (10 << 20))
    rows = gzip.compress(ROW + b"[" * (90 << 20))
    return [
        OddFile("bombs", "320 MB of zeros in gzip", _written("odd.jsonl.gz", packed.getvalue())),
        OddFile("bombs", "zeros as CSV", _written("odd.csv.gz", packed.getvalue())),
        OddFile(
            "bombs", "zeros as mail", _written("odd.mbox.gz", b"\x1f\x8b" + packed.getvalue()[2:])
        ),
        OddFile("bombs", "10 million empty lines", _written("odd.jsonl.gz", lines)),
        OddFile("bombs", "90 MB of brackets in a line", _written("odd.jsonl.gz", rows)),
        OddFile(
            "bombs", "1 GB of zeros in 32 KB of zstd", _written("odd.jsonl.zst", zstd_bomb(8192))
        ),
        OddFile("bombs", "a letter of 80 MB", _letter),
        OddFile("bombs", "a long string 700 times in a dictionary", _repeated),
        OddFile("bombs", "an object of 600 MB in a repository", _object),
    ]


def zstd_bomb(blocks: int) -> bytes:
    """A frame with the largest window and blocks of 128 KB that repeat one byte."""
    block, last = ((end | 1 << 1 | (1 << 17) << 3).to_bytes(3, "little") for end in (0, 1))
    return zstandard.FRAME_HEADER + b"\x00\xa8" + (block + b"\0") * (blocks - 1) + last + b"\0"


def _written(name: str, data: bytes) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        (place.folder / name).write_bytes(data)
        return place.building(place.folder / name)

    return prepare


def _whole() -> dict[str, bytes]:
    """Honest files of several kinds."""
    table = pa.table(
        {"user": ["ann", "bob"] * 200, "text": [f"text number {n}" for n in range(400)]}
    )
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())
    parquet, stream, arrow = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return {
        "odd.parquet": parquet.getvalue(),
        "odd.arrow": arrow.getvalue(),
        "odd.feather": stream.getvalue(),
        "odd.jsonl.gz": gzip.compress(rows),
        "odd.jsonl.zst": zstandard.compress(rows),
    }


def _twice(place: Place) -> Commands:
    table = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["user", "text", "text"])
    pq.write_table(table, place.folder / "odd.parquet")
    return place.building(place.folder / "odd.parquet")


def _ipc(path: Path, column: pa.Array, *, spoilt: tuple[int, int] | None = None) -> None:
    """An Arrow file; `spoilt`: a number of 32 bits in it, and what is put in its place."""
    table = pa.record_batch({"user": pa.array(["a"] * len(column)), "text": column})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_batch(table)
    if spoilt is not None:
        before, after = (number.to_bytes(4, "little") for number in spoilt)
        data = path.read_bytes()
        assert before in data
        path.write_bytes(data.replace(before, after))


def _offsets(place: Place) -> Commands:
    _ipc(place.folder / "odd.arrow", pa.array(["x" * 77_777, "y"]), spoilt=(77_777, 1 << 30))
    return place.building(place.folder / "odd.arrow")


def _indices(place: Place) -> Commands:
    words = pa.array([str(number) for number in range(78_000)])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 77_777], pa.int32()), words)
    _ipc(place.folder / "odd.arrow", column, spoilt=(77_777, 1 << 30))
    return place.building(place.folder / "odd.arrow")


def _dataset(name: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        folder = place.folder / "dataset"
        folder.mkdir()
        _ipc(place.folder / "secret.arrow", pa.array(["outside"]))
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
        (folder / "dataset_info.json").write_text("{}")
        return place.building(folder)

    return prepare


def _deep_dataset(place: Place) -> Commands:
    commands = _dataset("x.arrow")(place)
    (place.folder / "dataset" / "state.json").write_text(f'{{"_data_files": {DEEP}}}')
    return commands


def _piped_dataset(place: Place) -> Commands:
    commands = _dataset("pipe.arrow")(place)
    fifo(place.folder / "dataset" / "pipe.arrow")
    return commands


def _circling_dataset(place: Place) -> Commands:
    commands = _dataset("circle.arrow")(place)
    (place.folder / "dataset" / "circle.arrow").symlink_to("circle.arrow")
    return commands


def _maildir(spoil: Callable[[Place, Path], object]) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        folder = place.folder / "mail"
        for part in ("cur", "new"):
            (folder / part).mkdir(parents=True)
        (folder / "new" / "0").write_bytes(b"From: ann@x.org\n\na letter\n")
        spoil(place, folder / "cur")
        return place.building(folder, more=("--validation", 0))

    return prepare


def _link(place: Place, cur: Path) -> None:
    (place.folder / "secret").write_bytes(b"From: eve@x.org\n\nsecret words\n")
    (cur / "1").symlink_to(place.folder / "secret")


def _link_folder(place: Place, cur: Path) -> None:
    outside = place.folder / "outside"
    outside.mkdir()
    (outside / "1").write_bytes(b"From: eve@x.org\n\nsecret words\n")
    cur.rmdir()
    cur.symlink_to(outside)


def _no_secret(place: Place, ended: list[Ended]) -> str | None:
    shards = sorted((place.folder / "built" / "shards").glob("*.parquet"))
    texts = [text for shard in shards for text in pq.read_table(shard)["text"].to_pylist()]
    manifest = json.loads((place.folder / "built" / "manifest.json").read_text())
    if texts != ["a letter"]:
        return f"the corpus holds {texts}"
    return None if sum(manifest["set_aside"].values()) == 1 else "the link is not counted"


def _one_letter(place: Place, ended: list[Ended]) -> str | None:
    manifest = json.loads((place.folder / "built" / "manifest.json").read_text())
    return None if manifest["train"]["documents"] == 1 else "the letter beside the pipe is gone"


def _circle(place: Place) -> Commands:
    folder = place.folder / "circle"
    folder.mkdir()
    (folder / "again").symlink_to(folder)
    return place.building(folder)


def _letter(place: Place) -> Commands:
    line = b"word " * 200 + b"\n"
    letter = (
        b"From x\nFrom: ann@x.org\n\n" + line * (80 * 1024) + b"\nFrom y\nFrom: bob@x.org\n\nhi\n"
    )
    (place.folder / "odd.mbox").write_bytes(letter)
    return place.building(place.folder / "odd.mbox", more=("--validation", 0))


def _repeated(place: Place) -> Commands:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 700, pa.int32()), ["x" * (1 << 20)])
    table = pa.table({"user": pa.array(["a"] * 700), "text": text})
    pq.write_table(table, place.folder / "odd.parquet", compression="zstd")
    (place.folder / "good.jsonl").write_bytes(ROW)
    return place.building(
        place.folder / "odd.parquet", place.folder / "good.jsonl", more=("--validation", 0)
    )


def _object(place: Place) -> Commands:
    from trials.odd_files.repositories import commit_bomb

    return commit_bomb(place)
