"""Remote storage and other processes: of this machine at once, after a kill, and on the network."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import leakscope
from leakscope.records.errors import LeakscopeError
from leakscope.storage.fetching import localized
from leakscope.storage.mirror import Mirror
from leakscope.storage.remote_address import address_of
from remote_artifacts import SHAPE, files_of, put

WORKER = (
    "import sys; from pathlib import Path\n"
    "from leakscope.storage.fetching import localized\n"
    "from leakscope.storage.remote_address import address_of\n"
    "with localized(address_of(sys.argv[1])) as path:\n"
    "    print(sum(len(file.read_bytes()) for file in path.rglob('*') if file.is_file()))\n"
)


def test_processes_that_want_the_same_at_once_fetch_it_once(uploaded, remote, server):
    before = len(server.asked("GET OBJECT"))
    words = [sys.executable, "-c", WORKER, f"{remote}/corpus"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    sizes = {process.communicate(timeout=60)[0] for process in running}
    assert sizes == {f"{sum(map(len, files_of(uploaded / 'corpus').values()))}\n"}
    fetched = [line for line in server.asked("GET OBJECT")[before:] if "00000.parquet" in line]
    assert len(fetched) == 1


def test_readers_share_a_mirror_and_writers_do_not(uploaded, remote):
    address = address_of(f"{remote}/corpus")
    with localized(address) as one, localized(address) as other:
        assert one == other
        with (
            pytest.raises(LeakscopeError, match=f"Another leakscope on this machine uses {remote}"),
            Mirror(address).locked(alone=True),
        ):
            pass


def test_a_changed_artifact_waits_for_those_who_read_the_old_one(uploaded, remote, make_corpus):
    """A reader's files stay as they are for as long as it reads."""
    address = address_of(f"{remote}/corpus")
    with ThreadPoolExecutor(1) as pool:
        with localized(address) as path:
            before = files_of(path)
            leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/new", seed=3, validation=0.5)
            put(files_of(uploaded / "new"), uploaded / "corpus")
            later = pool.submit(lambda: leakscope.corpus.info(f"{remote}/corpus").digest)
            with pytest.raises(TimeoutError):
                later.result(timeout=0.5)
            assert files_of(path) == before
        assert later.result(timeout=30) == leakscope.corpus.info(f"{remote}/new").digest


class StoppedError(BaseException):
    """Stands for a kill."""


def test_an_interrupted_training_goes_on(local, uploaded, remote):
    """From its checkpoint on this machine, to the same weights."""
    seen: list[str] = []

    def until_a_checkpoint(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        seen.append(stage)
        if stage == "train" and done >= 18:
            raise StoppedError

    asked = {**SHAPE, "checkpoint_steps": 5}
    with pytest.raises(StoppedError):
        leakscope.train(f"{remote}/corpus", f"{remote}/new", progress=until_a_checkpoint, **asked)
    assert not (uploaded / "new").exists()
    with pytest.raises(LeakscopeError, match=f"There is no {remote}/new"):
        leakscope.probe(f"{remote}/new", "the old")

    def noting(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        seen.append(stage)

    leakscope.train(f"{remote}/corpus", f"{remote}/new", progress=noting, **asked)
    assert "resume" in seen
    new, known = files_of(uploaded / "new"), files_of(local / "model")
    assert new["model.safetensors"] == known["model.safetensors"]
    assert new.keys() == known.keys()


ALONE = """
ip link set lo up
"$1" -c "
import sys
sys.path[:0] = sys.argv[3].split(':')
from pathlib import Path
from s3_server import S3Server
import os, subprocess
with S3Server(Path(sys.argv[1])) as server:
    (server.files / 'rows.jsonl').write_bytes(Path(sys.argv[2]).read_bytes())
    told = os.environ | server.environment(Path(sys.argv[1]) / 'cache')
    for words in (
        ['corpus', 'build', 's3://bucket/rows.jsonl', '--out', 's3://bucket/corpus', '--quiet'],
        ['corpus', 'info', 's3://bucket/corpus'],
    ):
        subprocess.run([sys.executable, '-m', 'leakscope', *words], env=told, check=True, stdout=2)
" "$2" "$3" "$4" || exit 1
cat /proc/net/snmp
"""


@pytest.mark.parametrize("lookup", [None, "false"])
def test_no_connection_but_to_the_server_that_was_named(lookup, local, tmp_path):
    """In a network name space with loopback alone, where every other attempt is counted; such as
    that of the library, when it is told to look for credentials on Amazon's machines.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    if lookup is not None:
        environment["AWS_EC2_METADATA_DISABLED"] = lookup
    words = ["unshare", "--map-root-user", "--net", "sh", "-c", ALONE, "sh", sys.executable]
    words += [str(tmp_path), str(local / "rows.jsonl"), ":".join(sys.path)]
    ran = subprocess.run(
        words,
        env=environment | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    names, values = [line.split() for line in ran.stdout.splitlines() if line.startswith("Ip:")]
    counters = dict(zip(names, values, strict=True))
    assert int(counters["OutRequests"]) > 0
    assert (int(counters["OutNoRoutes"]) == 0) == (lookup is None)
    assert Path(tmp_path / "served" / "bucket" / "corpus" / "manifest.json").is_file()
