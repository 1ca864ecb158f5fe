"""Servers that send too much, too slowly, or packed so that it becomes too much."""

import resource
import time

import pytest

from leakscope.models.remote import bounded_http
from leakscope.records.errors import LeakscopeError
from served import serving

REQUEST = {"prompt": "the secret cat", "max_tokens": 1, "temperature": 0}


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_server_that_drips_is_left_when_the_time_is_over(plain, connect, part):
    with serving(plain.served(drip=part)) as url:
        begin = time.monotonic()
        with pytest.raises(LeakscopeError, match=r"did not answer within 0.7 seconds, 1 times"):
            connect(url, timeout=0.7, attempts=1).ask(REQUEST)
        assert 0.6 < time.monotonic() - begin < 2.5


def test_an_answer_in_time_is_whole_however_it_comes(plain, connect):
    served = plain.served()
    with serving(served) as url:
        expected = connect(url).ask(REQUEST)
        for number, changes in enumerate([{"packing": "gzip"}, {"padding": 1 << 20}]):
            for name, value in changes.items():
                setattr(served, name, value)
            assert connect(url, folder=f"other{number}").ask(REQUEST) == expected


@pytest.mark.parametrize("changes", [{"padding": 1 << 26}, {"packing": "bomb"}])
def test_an_answer_that_is_too_large(plain, connect, changes):
    served = plain.served(**changes)
    with serving(served) as url:
        client = connect(url)
        with pytest.raises(LeakscopeError, match=r"more than 32 MiB; give a smaller") as failed:
            client.ask(REQUEST)
    assert client.sent == 1 and "secret" not in str(failed.value)


def test_a_bomb_is_not_unpacked_further_than_the_limit():
    import zlib

    pack = zlib.compressobj(wbits=31)
    bomb = b"".join([pack.compress(b"\0" * (1 << 20)) for _ in range(512)]) + pack.flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(bounded_http.TooLargeError):
        bounded_http._unpacked([bomb], "gzip")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB


@pytest.mark.parametrize("packing", ["br", "zstd", "deflate", "gzip, gzip", "nonsense"])
def test_packing_that_was_not_asked_for(plain, connect, packing):
    with (
        serving(plain.served(packing=packing)) as url,
        pytest.raises(LeakscopeError, match="not asked for, or damages them"),
    ):
        connect(url).ask(REQUEST)


def test_connections_are_used_again(plain, connect):
    served = plain.served()
    with serving(served) as url:
        client = connect(url, concurrency=1)
        for number in range(5):
            client.ask(REQUEST | {"prompt": f"the cat {number}"})
        assert served.connections == 1
