import signal
import threading

import pytest

from leakscope.engine.postponed_interrupt import postponed_interrupt


@pytest.fixture(autouse=True)
def _usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    signal.raise_signal(signal.SIGINT)


def test_the_first_one_waits_and_the_second_one_does_not():
    with postponed_interrupt() as interrupted:
        assert not interrupted()
        press()
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            press()
    with pytest.raises(KeyboardInterrupt):
        press()


def test_the_usual_handler_is_back_afterwards_also_after_an_error():
    for pressed in (0, 1):
        with pytest.raises(ValueError, match="whatever"), postponed_interrupt():
            for _ in range(pressed):
                press()
            raise ValueError("whatever")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_handler_stays():
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with postponed_interrupt() as interrupted:
        press()
    assert heard == [signal.SIGINT] and not interrupted()


def test_other_threads_leave_the_signal_alone():
    found = []

    def work():
        with postponed_interrupt():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
