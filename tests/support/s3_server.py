"""A real S3 server on this machine, by rclone; and a wire to it that can be cut."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

KEY, SECRET = "AKIAPRIVATEKEY", "a/very+secret/access+key"
BUCKET = "bucket"


class S3Server:
    """`rclone serve s3` over a folder; the objects of the bucket are the files in `files`."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.files = folder / "served" / BUCKET
        self.files.mkdir(parents=True, exist_ok=True)
        self._port = free_port()
        self._log = folder / f"server-{self._port}.log"
        self._more = ["--read-only"] if read_only else []
        self.url = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> "S3Server":
        found = Path(sys.executable).with_name("rclone")
        program = found if found.exists() else shutil.which("rclone")
        words = [
            program, "serve", "s3", self.files.parent, "--config", os.devnull, "--addr",
            f"127.0.0.1:{self._port}", "--auth-key", f"{KEY},{SECRET}", "-vv",
            "--dir-cache-time", "1ms",  # tests change files behind the server's back
            *self._more,
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([str(word) for word in words], stderr=log)
        wait_for(self._port, self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)

    def environment(self, cache: Path) -> dict[str, str]:
        """What a process needs to reach it, with a cache of its own."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.url,
            "LEAKSCOPE_CACHE": str(cache),
        }

    def asked(self, what: str) -> list[str]:
        """The log's lines of requests such as GET OBJECT, up to now."""
        return [line for line in self._log.read_text().splitlines() if f"serve s3: {what}" in line]

    def names(self, below: str = "") -> set[str]:
        """The objects of the bucket, by their keys."""
        found = (self.files / below).rglob("*")
        return {path.relative_to(self.files / below).as_posix() for path in found if path.is_file()}


class Wire:
    """A wire to a server that counts bytes towards it and can be cut after some of them."""

    def __init__(self, server: S3Server) -> None:
        self.lead_to(server)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.left: int | None = None
        """Bytes that still go through, in both directions; None: any number."""
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def lead_to(self, server: S3Server) -> None:
        """Let what comes from now on go to another server."""
        self._to = int(server.url.rpartition(":")[2])

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.left == 0:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(1 << 14):
                if self.left is not None:
                    block, self.left = block[: self.left], max(0, self.left - len(block))
                target.sendall(block)
                if self.left == 0:
                    self.cut()
                    return
            target.shutdown(socket.SHUT_WR)


def wait_for(port: int, log: Path) -> None:
    """Wait until a server answers; if it does not, raise with the end of its log."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.05)
    raise RuntimeError(log.read_text()[-2000:])


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])
