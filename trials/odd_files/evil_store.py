"""A server that speaks S3 and lies: `python -m trials.odd_files.evil_store ORDERS`.

It prints its port. ORDERS is a JSON file, read anew at each request: `folder`, whose files are the
objects at `s3://bucket/it`; `add`, further keys, which are empty objects; `lie`, one of LIES; and
`marker`, a file that is left when somebody who follows it elsewhere brings credentials along.
"""

import hashlib
import json
import sys
from collections import Counter
from contextlib import suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

OF_OBJECTS = (
    "none", "cut", "endless", "other bytes each time", "sends elsewhere", "always fails",
    "always denies", *(f"{how} at request {at}" for how in ("shrinks", "grows") for at in range(6)),
)  # fmt: skip
OF_LISTS = (
    "listed larger", "listed smaller", "listed as huge", "listed as less than nothing",
    "lists noise", "lists a page", "lists a bomb", "lists deep XML", "lists all twice",
)  # fmt: skip
LIES = (*OF_OBJECTS, *OF_LISTS)
CHANGE = 5
"""Bytes by which an object changes."""
DATE = "2026-11-18T00:00:00.000Z"
BOMB = '<!DOCTYPE x [<!ENTITY a0 "ha">{}]>'.format(
    "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
)
_asked = count()
_seen: Counter[str] = Counter()
"""Requests for each object, of each file of orders."""


class EvilStore(BaseHTTPRequestHandler):
    """Answers as the orders say."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Nothing is printed but the port."""

    def _answer(self) -> None:
        self.orders = json.loads(Path(sys.argv[1]).read_text())
        self.lie = self.orders["lie"]
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix("/bucket").removeprefix("/")
        if self.headers["Host"].startswith("localhost") and "Authorization" in self.headers:
            Path(self.orders["marker"]).touch()
        if self.lie in ("always fails", "always denies"):
            return self._send({"always fails": 500, "always denies": 403}[self.lie])
        if not key:
            return self._list(parse_qs(parts.query).get("prefix", [""])[0])
        objects = self._objects()
        if key not in objects:
            return self._send(404)
        if self.lie == "sends elsewhere" and not self.headers["Host"].startswith("localhost"):
            _, _, port = self.headers["Host"].partition(":")
            return self._send(307, b"", Location=f"http://localhost:{port}{self.path}")
        return self._object(self._changed(key, objects[key]))

    def _changed(self, key: str, data: bytes) -> bytes:
        """An object as it is by now: another one takes its place at some request for it."""
        how, at, number = self.lie.rpartition(" at request ")
        order = f"{self.orders} {key}"
        _seen[order] += 1
        if not at or _seen[order] <= int(number):
            return data
        return data[:-CHANGE] if how == "shrinks" else data + data[-CHANGE:]

    def _objects(self) -> dict[str, bytes]:
        folder = Path(self.orders["folder"])
        found = {
            f"it/{path.relative_to(folder)}": path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        return found | {f"it/{key}": b"" for key in self.orders["add"]}

    def _object(self, data: bytes) -> None:
        if self.lie == "other bytes each time" and data:
            place = next(_asked) % len(data)
            data = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        tag = {"ETag": f'"{hashlib.md5(data).hexdigest()}"'}
        if "Range" not in self.headers:
            return self._send(200, data, **tag)
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        return self._send(206, data[int(first) : int(last) + 1 if last else None], **tag)

    def _send(self, status: int, data: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Last-Modified", formatdate(usegmt=True))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.lie == "cut" and status in (200, 206):
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        self.wfile.write(data)
        if self.lie == "endless" and status in (200, 206):
            self.close_connection = True
            with suppress(ConnectionError):
                for _ in range(1000):
                    self.wfile.write(b"x" * 65536)

    def _list(self, prefix: str) -> None:
        sizes = {key: len(data) for key, data in self._objects().items() if key.startswith(prefix)}
        if self.command == "HEAD" or not sizes:
            return self._send(200)
        more = {"listed larger": 7, "listed smaller": -1, "listed as huge": 1 << 61}
        less = -(1 << 40) if self.lie == "listed as less than nothing" else 0
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{DATE}</LastModified>"
            f"<ETag>&quot;0&quot;</ETag><Size>{size + more.get(self.lie, less)}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for key, size in sorted(sizes.items())
        )
        if self.lie == "lists all twice":
            entries *= 2
        if self.lie == "lists a bomb":
            entries = f"<Contents><Key>it/&a11;</Key><Size>1</Size></Contents>{entries}"
        if self.lie == "lists deep XML":
            entries = "<a>" * 200_000 + "</a>" * 200_000
        bomb = BOMB if self.lie == "lists a bomb" else ""
        told = f"<KeyCount>{len(sizes)}</KeyCount><IsTruncated>false</IsTruncated>"
        text = f"{bomb}<ListBucketResult>{told}{entries}</ListBucketResult>"
        if self.lie == "lists noise":
            text = "\0\1\2<" * 500
        if self.lie == "lists a page":
            text = "<html><body onload='evil()'>Sign in</body></html>"
        kind = {"Content-Type": "application/xml"}
        return self._send(200, text.encode(), **kind)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), EvilStore)
    print(server.server_port, flush=True)
    server.serve_forever()
