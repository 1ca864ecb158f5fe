"""Every piece is worked on once, by whichever thread comes first."""

import multiprocessing
import threading
import time

import pytest
import torch

from leakscope.training.steps.threads import in_threads, in_turn


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
@pytest.mark.parametrize("run", [in_threads, in_turn])
def test_each_piece_once(run, count, threads):
    done = []
    run(done.append, list(range(count)))
    assert sorted(done) == list(range(count))


def test_as_many_threads_as_torch_has(threads):
    seen, together = set(), threading.Barrier(threads)

    def work(piece):
        together.wait(10)  # until each thread has a piece
        seen.add(threading.get_ident())

    in_threads(work, list(range(threads)))
    assert len(seen) == threads


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_after_an_error_no_further_piece_is_begun(threads, kind):
    begun = []

    def work(piece):
        begun.append(piece)
        time.sleep(0.005)
        if piece == 3:
            raise kind

    with pytest.raises(kind):
        in_threads(work, list(range(1000)))
    assert len(begun) < 4 + 3 * threads


def test_pieces_may_have_pieces(threads):
    done = []
    in_threads(lambda piece: in_threads(done.append, [piece] * 3), list(range(9)))
    assert sorted(done) == sorted(list(range(9)) * 3)


def test_an_error_is_raised_after_all_have_stopped(threads):
    working = set()

    def work(piece):
        working.add(piece)
        time.sleep(0.01)
        working.discard(piece)
        if piece == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        in_threads(work, list(range(20)))
    assert not working


def test_a_forked_process_has_threads_of_its_own(threads):
    in_threads(lambda piece: None, list(range(4)))
    child = multiprocessing.get_context("fork").Process(
        target=in_threads, args=(lambda piece: None, list(range(4)))
    )
    child.start()
    child.join(20)
    assert child.exitcode == 0
