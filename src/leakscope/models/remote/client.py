"""Ask an endpoint: many requests at once, within its limits and the user's budget, each of them
sent again if it fails in passing, and none that was answered before.

Nothing that a server says of an error is repeated, since it may quote the prompt.
"""

import email.utils
import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import httpx2

from leakscope.engine.progress import Progress, silent
from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.bounded_http import (
    LARGEST_ANSWER,
    BoundedHttp,
    Reply,
    TooLargeError,
    UnknownEncodingError,
)
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.records.errors import LeakscopeError

LONGEST_PAUSE = 60.0  # seconds
PASSING = (408, 409, 425, 429)
"""Answers that may be others a moment later, beside all from 500 on."""

WATCHED = 100
"""Answers, kept ones included, after which it is seen anew whether the model is the same."""

Watch = Callable[[dict[str, Any] | None, dict[str, Any] | None], None]
"""Takes the last request, and its answer if that had been kept."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class Client:
    """An endpoint that is being asked. Use it as a context, or close it."""

    def __init__(
        self,
        endpoint: Endpoint,
        limits: RequestLimits,
        answers: Answers,
        progress: Progress = silent,
    ) -> None:
        self.endpoint, self.limits, self.answers = endpoint, limits, answers
        self.sent = 0
        """Requests sent, failed ones included."""
        self.kept = 0
        """Requests that had been answered before."""
        self._progress = progress
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        self._next = 0.0  # when the next request may be sent
        self._stop = threading.Event()
        headers = {} if limits.key is None else {"Authorization": f"Bearer {limits.key}"}
        self._http = BoundedHttp(headers, limits.timeout, limits.concurrency)
        self.watch: Watch | None = None
        """Sees whether the model is still the same; called after every WATCHED answers."""
        self._answered = self._watched = 0

    def ask(
        self, request: dict[str, Any], check: Callable[[dict[str, Any]], object] | None = None
    ) -> dict[str, Any]:
        """The first choice that the endpoint answers to a request for a completion: from what was
        kept, or from who is asking just now, or by asking. What `check` raises on is not kept.
        """
        whole = self._whole(request)
        key = self.answers.key(
            {"url": self.endpoint.url, "begin": self.endpoint.begin, "request": whole}
        )
        with self._lock:
            asking = self._waiting.get(key)
            kept = self.answers.find(key) if asking is None else None
            self.kept += kept is not None
            if asking is None and kept is None:
                mine: Future[dict[str, Any]] = Future()
                self._waiting[key] = mine
        if asking is not None:
            return asking.result()
        if kept is not None:
            self._count(request, kept)
            return kept
        try:
            answer = self.fresh(request)
            if check is not None:
                check(answer)
            self.answers.keep(key, answer)
            self._count(request, None)
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            mine.set_result(answer)
            return answer
        finally:
            with self._lock:
                del self._waiting[key]

    def confirm(self) -> None:
        """See for the last time whether the model is the one that gave all answers."""
        with self._lock:
            due = self._answered > self._watched
            self._watched = self._answered
        if due and self.watch is not None:
            self.watch(None, None)

    def _count(self, request: dict[str, Any], kept: dict[str, Any] | None) -> None:
        """Count an answer, and look who serves if it is time."""
        with self._lock:
            self._answered += 1
            due = self._answered - self._watched >= WATCHED
            if due:
                self._watched = self._answered
        if due and self.watch is not None:
            self.watch(request, kept)

    def fresh(self, request: dict[str, Any]) -> dict[str, Any]:
        """The same, asked now, whatever was answered before."""
        whole = self._whole(request)
        why = ""
        for attempt in range(self.limits.attempts):
            self._await_turn()
            pause = min(self.limits.pause * 2**attempt, LONGEST_PAUSE) * random.uniform(1, 1.25)  # noqa: S311
            try:
                reply = self._http.post(f"{self.endpoint.url}/completions", whole)
            except httpx2.TimeoutException:
                why = f"did not answer within {self.limits.timeout:g} seconds"
            except httpx2.RequestError:
                why = "does not answer: the connection was refused or broke off"
            except RuntimeError:  # the client was closed by another thread's failure
                raise StoppedError from None
            except TooLargeError:
                raise LeakscopeError(
                    f"The endpoint {self.endpoint.url} sends an answer of more than "
                    f"{LARGEST_ANSWER >> 20} MiB; give a smaller --prompt-words or --top-k."
                ) from None
            except UnknownEncodingError:
                raise LeakscopeError(
                    f"The endpoint {self.endpoint.url} packs its answers in a way that was not "
                    f"asked for, or damages them; let it send them plain or as gzip."
                ) from None
            else:
                if reply.status not in PASSING and reply.status < 500:
                    return _choice(self.endpoint, reply)
                why = f"answered with HTTP {reply.status}"
                pause = max(pause, _asked_pause(reply.retry_after))
            if attempt + 1 < self.limits.attempts and self._stop.wait(pause):
                raise StoppedError
        raise LeakscopeError(
            f"The endpoint {self.endpoint.url} {why}, {self.limits.attempts} times in a row; "
            f"the answers so far are kept: give the same command again when it serves."
        )

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Sequence[Result]:
        """`work` on every item, several at a time, in their order. After a failure nothing new is
        begun, but what is on its way has been paid for: it is waited for and kept. An interruption
        waits for nothing.
        """
        due = enumerate(items)
        done: SimpleQueue[tuple[int, Result | None, BaseException | None]] = SimpleQueue()

        def run() -> None:
            while True:
                with self._lock:
                    at, item = next(due, (-1, None))
                if at < 0 or self._stop.is_set():
                    done.put((-1, None, None))
                    return
                try:
                    done.put((at, work(item), None))  # type: ignore[arg-type]
                except BaseException as error:
                    self._stop.set()
                    done.put((at, None, error))

        # Not a pool: its threads would be waited for at the end of the program.
        for _ in range(self.limits.concurrency):
            threading.Thread(target=run, daemon=True).start()
        results: dict[int, Result] = {}
        failures: list[BaseException] = []
        running = self.limits.concurrency
        while running:
            try:
                at, result, failure = done.get(timeout=0.2)  # so that Ctrl-C gets through
            except Empty:
                continue
            except BaseException:
                self._stop.set()
                self._http.close()
                raise
            if at < 0:
                running -= 1
            elif failure is not None:
                failures.append(failure)
            else:
                results[at] = result  # type: ignore[assignment]
        for failure in sorted(failures, key=lambda each: isinstance(each, StoppedError)):
            raise failure
        return [results[at] for at in range(len(results))]

    def _whole(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"model": self.endpoint.model, **request, **self.endpoint.extra}

    def close(self) -> None:
        """Give the connections and the kept answers back."""
        self._stop.set()
        self._http.close()
        self.answers.close()

    def _await_turn(self) -> None:
        """Return when a request may be sent, counting it."""
        with self._lock:
            limit = self.limits.max_requests
            if limit is not None and self.sent >= limit:
                raise LeakscopeError(
                    f"The budget of {limit} requests is spent; the answers so far are kept: give "
                    f"the same command again, or with a larger --max-requests, to go on."
                )
            self.sent += 1
            sent, kept = self.sent, self.kept
            now = time.monotonic()
            turn = max(now, self._next)
            if self.limits.per_minute is not None:
                self._next = turn + 60.0 / self.limits.per_minute
        self._progress("ask", sent, limit, f"{kept} answered before" if kept else "")
        if self._stop.wait(turn - now) if turn > now else self._stop.is_set():
            raise StoppedError


class StoppedError(Exception):
    """Another request failed for good, so this one is not worth waiting for."""


def _asked_pause(said: str) -> float:
    """The seconds that a server asks to wait by its Retry-After; 0 if it does not say."""
    try:
        return min(max(float(said), 0.0), 600.0)
    except ValueError:
        pass
    try:
        until = email.utils.parsedate_to_datetime(said).timestamp()
    except (TypeError, ValueError):
        return 0.0
    return min(max(until - time.time(), 0.0), 600.0)


def _choice(endpoint: Endpoint, reply: Reply) -> dict[str, Any]:
    """What of a final response is worth keeping, or why there is nothing."""
    status, where = reply.status, endpoint.url
    if status in (401, 403):
        raise LeakscopeError(
            f"The endpoint {where} refuses the key (HTTP {status}); put the right one into the "
            f"environment variable that --api-key-env names."
        )
    if status == 404:
        raise LeakscopeError(
            f"The endpoint has no {where}/completions, or no model {endpoint.model} (HTTP 404); "
            f"chat endpoints cannot continue a text."
        )
    if status in (400, 413, 422):
        raise RefusedError(
            f"The endpoint {where} refuses a request (HTTP {status}); if the prompt is too long "
            f"for it, give a smaller --prompt-words."
        )
    if status != 200:
        raise LeakscopeError(f"The endpoint {where} answered with HTTP {status}.")
    try:
        choice = json.loads(reply.body)["choices"][0]
        text, reason = choice["text"], choice.get("finish_reason")
        logprobs, prompt = choice.get("logprobs"), choice.get("prompt_logprobs")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise LeakscopeError(f"{where} does not answer as an OpenAI-compatible endpoint does.")
    kept = {"text": text, "finish_reason": reason, "logprobs": logprobs, "prompt_logprobs": prompt}
    return {name: value for name, value in kept.items() if value is not None}


class RefusedError(LeakscopeError):
    """The endpoint does not take a request as it is."""
