"""A real HTTP server with a real, tiny model: the legacy completions of the OpenAI API, as far as
servers agree on them, with the faults that servers have.
"""

import gzip
import json
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch

KEY = "sk-never-to-be-written-0123456789"


@dataclass
class Served:
    """What is served, how badly, and what was asked."""

    network: object
    tokenizer: object
    logprobs: bool = True
    """Whether `echo` and `logprobs` are honoured."""
    begins: bool = True
    """Whether the server puts the begin mark before a prompt, as most do."""
    misplaced: bool = False
    """Log-probabilities stand one token too early."""
    strips: bool = False
    """Continuations lose their leading white space."""
    status: int | None = None
    """Every request is answered with this."""
    failures: list[tuple[int, str | None]] = field(default_factory=list)
    """Answers to the next requests: status, and Retry-After."""
    dies_after: int | None = None
    """After so many answers the server breaks off connections, as a killed one."""
    next_network: tuple[int, object] | None = None
    """After so many answers, the network that is served from then on."""
    shift: float = 0.0
    """Added to every log-probability."""
    packing: str | None = None
    """How answers are packed: gzip, a bomb of gzip, or a name that nobody asked for."""
    drip: str | None = None
    """Which part of an answer comes a byte at a time: its head or its body."""
    padding: int = 0
    """Bytes of white space before an answer."""
    seconds: float = 0.0
    """How long an answer takes."""
    asked: list[dict] = field(default_factory=list)
    """The bodies of all answered requests."""
    times: list[float] = field(default_factory=list)
    connections: int = 0
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ids(self, text):
        found = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return [self.tokenizer.bos_token_id, *found] if self.begins else found

    def spell(self, token):
        raw = self.tokenizer.convert_ids_to_tokens(token)
        if raw.startswith("<0x") or token in self.tokenizer.all_special_ids:
            return ""
        if "▁" in raw:
            return raw.replace("▁", " ")
        return self.tokenizer.decode([token], clean_up_tokenization_spaces=False)

    @torch.inference_mode()
    def complete(self, body):
        ids = self.ids(body["prompt"])
        given = len(ids)
        reason = "length"
        for _ in range(body["max_tokens"]):
            following = int(self.network(torch.tensor([ids])).logits[0, -1].argmax())
            if following == self.tokenizer.eos_token_id:
                reason = "stop"
                break
            ids.append(following)
        text = self.said(ids[:given], ids)
        if self.strips:
            text = text.lstrip()
        choice = {"text": text, "index": 0, "finish_reason": reason, "logprobs": None}
        if self.logprobs and body.get("logprobs") is not None:
            choice["logprobs"] = self.told(ids, body["logprobs"])
            choice["text"] = body["prompt"] + text
        return {"object": "text_completion", "choices": [choice]}

    def said(self, before, whole):
        """What the tokens behind `before` add to the text."""
        options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        left = self.tokenizer.decode(before, **options)
        return self.tokenizer.decode(whole, **options)[len(left) :]

    def told(self, ids, count):
        logs = torch.log_softmax(self.network(torch.tensor([ids])).logits[0].double(), 1)
        skip = 1 if self.begins else 0
        tokens = ids[skip:]
        rows = logs.roll(-1, 0) if self.misplaced else logs if skip else logs.roll(1, 0)
        own, top = [], []
        for row, token in zip(rows, tokens, strict=False):
            best = row.topk(count)
            entries = {
                self.spell(id): value
                for id, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            }
            entries[self.spell(token)] = float(row[token])
            own.append(float(row[token]) + self.shift)
            top.append({name: value + self.shift for name, value in entries.items()})
        if not self.begins:
            own[0], top[0] = None, None
        spelled = [self.spell(token) for token in tokens]
        return {"tokens": spelled, "token_logprobs": own, "top_logprobs": top}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.served.lock:
            self.server.served.connections += 1

    def log_message(self, *_):
        pass

    def do_POST(self):
        served = self.server.served
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with served.lock:
            served.times.append(time.monotonic())
            fault = served.failures.pop(0) if served.failures else None
            served.at_once += 1
            served.most_at_once = max(served.most_at_once, served.at_once)
        try:
            time.sleep(served.seconds)
            if fault is not None or served.status is not None:
                status, after = fault or (served.status, None)
                # What servers do: they repeat the prompt in the error.
                self.answer(status, {"error": {"message": body["prompt"]}}, after)
            elif self.path != "/v1/completions":
                self.answer(404, {"error": {}})
            elif self.headers.get("Authorization") != f"Bearer {KEY}":
                self.answer(401, {"error": {"message": self.headers.get("Authorization")}})
            else:
                with served.lock:
                    dead = served.dies_after is not None and len(served.asked) >= served.dies_after
                    if not dead:
                        if served.next_network and len(served.asked) >= served.next_network[0]:
                            served.network = served.next_network[1]
                        found = served.complete(body)
                        served.asked.append(body)
                if dead:
                    self.close_connection = True
                else:
                    self.answer(200, found)
        finally:
            with served.lock:
                served.at_once -= 1

    def answer(self, status, content, after=None):
        served = self.server.served
        sent = b" " * served.padding + json.dumps(content).encode()
        if served.packing in ("gzip", "bomb"):
            sent = gzip.compress(b" " * (served.packing == "bomb") * (1 << 28) + sent)
        head = [f"HTTP/1.1 {status} X", "Content-Type: application/json"]
        if served.packing is not None:
            head.append(f"Content-Encoding: {served.packing.replace('bomb', 'gzip')}")
        if after is not None:
            head.append(f"Retry-After: {after}")
        lines = "\r\n".join([*head, f"Content-Length: {len(sent)}", "", ""]).encode()
        with suppress(OSError):  # whoever asks may have gone away
            self.put(lines, served.drip == "head")
            self.put(sent, served.drip == "body")

    def put(self, data, slowly):
        if not slowly:
            self.wfile.write(data)
            return
        for byte in data:
            self.wfile.write(bytes([byte]))
            time.sleep(0.1)


@contextmanager
def serving(served: Served):
    """The server's address, for as long as it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.served, server.daemon_threads = served, True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
