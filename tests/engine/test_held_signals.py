import signal
import threading

import pytest

from leakscope.engine.cluster.held_signals import held_signals, reclaim_sigterm, unwinding_sigterm

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def _usual_handlers():
    usual = (signal.default_int_handler, signal.SIG_DFL)
    before = [signal.signal(number, by) for number, by in zip(BOTH, usual, strict=True)]
    yield
    for number, by in zip(BOTH, before, strict=True):
        signal.signal(number, by)


def handlers():
    return [signal.getsignal(number) for number in BOTH]


@pytest.mark.parametrize(
    ("sent", "raised"),
    [
        ([signal.SIGINT], KeyboardInterrupt),
        ([signal.SIGTERM], SystemExit),
        ([signal.SIGTERM, signal.SIGINT, signal.SIGTERM], SystemExit),
    ],
)
def test_they_wait_for_the_end_however_often_they_come(sent, raised):
    before, whole = handlers(), []
    with pytest.raises(raised) as ended, unwinding_sigterm(), held_signals() as noted:
        assert not noted()
        for number in sent:
            signal.raise_signal(number)
        whole.append(noted())
    assert whole == [True] and handlers() == before
    assert raised is KeyboardInterrupt or ended.value.code == 143


def test_errors_go_on_where_none_came():
    before = handlers()
    with pytest.raises(ValueError, match="whatever"), unwinding_sigterm(), held_signals():
        raise ValueError("whatever")
    assert handlers() == before


def test_others_keep_their_handlers():
    heard = []
    for number in BOTH:
        signal.signal(number, lambda number, _: heard.append(number))
    with unwinding_sigterm(), held_signals() as noted:
        for number in BOTH:
            signal.raise_signal(number)
        reclaim_sigterm()
        assert heard == [*BOTH] and not noted()


def test_other_threads_leave_the_signals_alone():
    found = []

    def work():
        with unwinding_sigterm(), held_signals():
            reclaim_sigterm()
            found.extend(handlers())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == handlers()
