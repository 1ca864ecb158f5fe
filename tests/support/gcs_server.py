"""A real server on this machine that speaks as Google's storage does."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import quote

from s3_server import BUCKET, free_port, wait_for


class GoogleServer:
    """An emulator of Google's storage that keeps objects in memory."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "server.log"
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> "GoogleServer":
        program = Path(sys.executable).with_name("gcp-storage-emulator")
        words = [
            program, "start", "--host", "127.0.0.1", "--port", self._port, "--in-memory",
            "--default-bucket", BUCKET,
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(word) for word in words], stdout=log, stderr=log, cwd=self._log.parent
            )
        wait_for(self._port, self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)

    def put(self, name: str, content: bytes) -> None:
        """Write an object of the bucket as somebody else would."""
        query = f"uploadType=media&name={quote(name, safe='')}"
        url = f"{self.url}/upload/storage/v1/b/{BUCKET}/o?{query}"
        urllib.request.urlopen(urllib.request.Request(url, content)).close()

    def files(self, below: str) -> dict[str, bytes]:
        """The content of all objects below a name."""
        listing = f"{self.url}/storage/v1/b/{BUCKET}/o"
        with urllib.request.urlopen(f"{listing}?prefix={quote(below + '/')}") as answer:
            found = [item["name"] for item in json.load(answer).get("items", [])]
        contents = {}
        for name in found:
            with urllib.request.urlopen(f"{listing}/{quote(name, safe='')}?alt=media") as answer:
                contents[name.removeprefix(f"{below}/")] = answer.read()
        return contents
