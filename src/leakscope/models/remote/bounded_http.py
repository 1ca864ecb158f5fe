"""Requests over HTTP that end: the whole of one has a deadline, and its answer a largest size.

The timeouts of an HTTP library count from one byte to the next, so that a server which sends a
byte now and then holds its client for ever. Here every read gets what is left of the time.
"""

import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpcore2
import httpx2

LARGEST_ANSWER = 1 << 25
"""Bytes of an answer, unpacked."""


class TooLargeError(Exception):
    """An answer has more than LARGEST_ANSWER bytes."""


class UnknownEncodingError(Exception):
    """An answer is packed in a way that was not asked for, or is damaged."""


@dataclass(frozen=True)
class Reply:
    """A final answer; the body is there only if the status is 200."""

    status: int
    retry_after: str
    body: bytes = b""


class BoundedHttp:
    """Connections that are used again, for any number of threads."""

    def __init__(self, headers: dict[str, str], timeout: float, connections: int) -> None:
        self._timeout = timeout
        self._deadline = _Deadline()
        # Neither proxies nor passwords are taken from the environment, and redirections are not
        # followed: the text goes to the named address and nowhere else.
        self._http = httpx2.Client(
            headers=headers | {"Accept-Encoding": "gzip"},
            timeout=httpx2.Timeout(timeout, connect=min(10.0, timeout)),
            transport=_Transport(self._deadline, connections),
            trust_env=False,
            follow_redirects=False,
        )

    def post(self, url: str, body: dict[str, Any]) -> Reply:
        """Send a JSON object; raise httpx2's errors, TooLargeError or UnknownEncodingError."""
        self._deadline.until = time.monotonic() + self._timeout
        with self._http.stream("POST", url, json=body) as response:
            said = response.headers.get("retry-after", "")
            if response.status_code != 200:
                return Reply(response.status_code, said)
            packing = response.headers.get("content-encoding", "identity").strip().lower()
            return Reply(200, said, _unpacked(response.iter_raw(), packing))

    def close(self) -> None:
        """Close all connections, also those that are in use."""
        self._http.close()


def _unpacked(chunks: Iterable[bytes], packing: str) -> bytes:
    """Join an answer, unpacking no more of it than may be kept."""
    if packing not in ("identity", "", "gzip", "x-gzip"):
        raise UnknownEncodingError
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if "gzip" in packing else None
    whole = bytearray()
    for chunk in chunks:
        left = LARGEST_ANSWER + 1 - len(whole)
        try:
            whole += chunk if unpack is None else unpack.decompress(chunk, left)
        except zlib.error:
            raise UnknownEncodingError from None
        if len(whole) > LARGEST_ANSWER:
            raise TooLargeError
    if unpack is not None and not unpack.eof:
        raise UnknownEncodingError
    return bytes(whole)


class _Deadline(threading.local):
    """When the request of this thread has to be over."""

    until = float("inf")

    def left(self, timeout: float | None) -> float:
        """Return the seconds for the next step; raise if there are none."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout
        return left if timeout is None else min(left, timeout)


class _Stream(httpcore2.NetworkStream):
    """A connection whose every step ends at the deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), 4096):
            self._inner.write(buffer[start : start + 4096], self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._deadline.left(timeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore2.SyncBackend):
    """Opens such connections."""

    def __init__(self, deadline: _Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *arguments: Any, **options: Any
    ) -> httpcore2.NetworkStream:
        left = self._deadline.left(timeout)
        inner = super().connect_tcp(host, port, left, *arguments, **options)
        return _Stream(inner, self._deadline)


class _Transport(httpx2.BaseTransport):
    """What httpx2's own transport does, over such connections."""

    def __init__(self, deadline: _Deadline, connections: int) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=5.0,
            network_backend=_Backend(deadline),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        target = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        asked = httpcore2.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=request.read(),
            extensions=request.extensions,
        )
        with _translated(request):
            found = self._pool.handle_request(asked)
        return httpx2.Response(
            found.status, headers=found.headers, stream=_Body(found.stream, request)
        )

    def close(self) -> None:
        self._pool.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: Any, request: httpx2.Request) -> None:
        self._stream, self._request = stream, request

    def __iter__(self) -> Iterator[bytes]:
        with _translated(self._request):
            yield from self._stream

    def close(self) -> None:
        self._stream.close()


@contextmanager
def _translated(request: httpx2.Request) -> Iterator[None]:
    """Turn the errors of httpcore2 into those of httpx2."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise httpx2.ReadTimeout("too late", request=request) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise httpx2.ReadError("broken off", request=request) from error
