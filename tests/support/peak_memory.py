"""The most anonymous memory that work takes beyond what the process had before it."""

import threading
from pathlib import Path


def anonymous() -> int:
    """Bytes of this process that no file backs."""
    said = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(said["RssAnon"].split()[0]) * 1024


def growth_of(work) -> int:
    """How many more bytes of anonymous memory there were while `work` ran, at most."""
    before, most, done = anonymous(), [0], threading.Event()

    def watch():
        while not done.wait(0.002):
            most[0] = max(most[0], anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return most[0] - before
