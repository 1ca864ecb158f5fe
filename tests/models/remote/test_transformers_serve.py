"""The tab attack on a server that others wrote: `transformers serve`."""

import os
import socket
import subprocess
import sys
import time

import httpx2
import numpy as np
import pytest

from leakscope.models.remote.handshake import remote_model
from leakscope.records.errors import LeakscopeError
from tiny_causal import documents


@pytest.fixture(scope="module")
def address(plain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    plain.network.save_pretrained(folder)
    plain.tokenizer.save_pretrained(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    server = subprocess.Popen(
        [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder), *arguments],
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert server.poll() is None, "the server did not start"
            try:
                if httpx2.get(f"{url}/health").status_code == 200:
                    break
            except httpx2.TransportError:
                time.sleep(0.2)
        yield f"{url}/v1", str(folder)
    finally:
        server.terminate()
        server.wait(30)


def test_its_continuations_give_the_local_hits(plain, connect, address):
    url, name = address
    whole = [plain.tokenizer(text)["input_ids"] for text in plain.texts]
    docs = documents([text for text, ids in zip(plain.texts, whole, strict=True) if len(ids) < 12])
    local = plain.local.score(docs, top_k=1)
    mark = plain.tokenizer.bos_token
    model = remote_model(connect(url, "text", begin=mark, model=name, concurrency=2))
    found = model.score(docs, top_k=1)
    differ = np.flatnonzero(((found.rank < 1) != (local.rank < 1)) & ~local.near_tie)
    assert differ.tolist() == []
    assert 10 < (found.rank < 1).sum() < len(found.rank) - 10


def test_it_does_not_tell_log_probabilities(connect, address):
    url, name = address
    with pytest.raises(LeakscopeError, match="--text-only"):
        remote_model(connect(url, model=name))
