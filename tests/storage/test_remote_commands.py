"""Commands with remote paths only: the same bytes as with local ones, and nothing fetched twice."""

import json
import stat

import pytest

import leakscope
from leakscope.cli.app import main
from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_address import cache_root
from remote_artifacts import ASKED, SHAPE, comparable, files_of, put
from s3_server import KEY, SECRET


@pytest.fixture
def typed(monkeypatch, capsys):
    """A command as it is typed: its exit code, and all that it printed."""

    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["leakscope", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out + printed.err

    return run


def test_all_of_it_remote_gives_the_same_bytes(local, objects, remote, server):
    put({"rows.jsonl": (local / "rows.jsonl").read_bytes()}, objects)
    leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/corpus", validation=0.2)
    trained = leakscope.train(f"{remote}/corpus", f"{remote}/model", **SHAPE)
    run = leakscope.report(f"{remote}/model", f"{remote}/corpus", f"{remote}/run", **ASKED)
    leakscope.person(f"{remote}/run", f"{remote}/ada", user="user1")
    leakscope.compare([f"{remote}/run", f"{remote}/run"], f"{remote}/compared")
    leakscope.harden(f"{remote}/run", f"{remote}/corpus", f"{remote}/hard")
    for name in ("corpus", "model", "run"):
        assert comparable(files_of(objects / name)) == comparable(files_of(local / name))
    given = json.loads((objects / "run" / "manifest.json").read_text())["options"]
    assert (given["model"], given["corpus"]) == (f"{remote}/model", f"{remote}/corpus")
    rows = json.loads((objects / "compared" / "compare.json").read_text())
    assert f"{remote}/run" in json.dumps(rows)
    assert all(each.is_damaged is False for each in leakscope.verify(remote))
    assert trained.history and repr(run).startswith(f"Run('{remote}/run'")
    assert run.sequences().num_rows == leakscope.open_run(local / "run").sequences().num_rows
    for name, content in files_of(objects).items():
        assert str(cache_root()).encode() not in content, name
        assert SECRET.encode() not in content and KEY.encode() not in content, name


def test_person_and_hardening_are_the_same_bytes(local, uploaded, remote, tmp_path):
    leakscope.person(local / "run", tmp_path / "ada", user="user1")
    leakscope.person(f"{remote}/run", f"{remote}/ada", user="user1")
    leakscope.harden(local / "run", local / "corpus", tmp_path / "hard", no_block_list=True)
    leakscope.harden(f"{remote}/run", f"{remote}/corpus", f"{remote}/hard", no_block_list=True)
    for name in ("ada", "hard"):
        assert files_of(uploaded / name) == files_of(tmp_path / name)


def test_a_second_run_fetches_nothing_again(uploaded, remote, server):
    arguments = (f"{remote}/model", f"{remote}/corpus")
    leakscope.report(*arguments, f"{remote}/one", **ASKED)
    before = server.asked("GET OBJECT")
    leakscope.corpus.info(f"{remote}/corpus")
    leakscope.probe(f"{remote}/model", "the old")
    fetched = [line.split("Object: ")[-1] for line in server.asked("GET OBJECT")[len(before) :]]
    assert fetched and all(key.endswith("/seal.txt") for key in fetched), fetched
    everything = "".join(line for line in before if uploaded.name in line)
    assert "corpus/shards/00000.parquet" in everything
    assert "snapshots" not in everything  # a report of the model needs none of them
    leakscope.report(f"{remote}/model/snapshots/epoch-001", arguments[1], f"{remote}/two", **ASKED)
    later = "".join(server.asked("GET OBJECT")[len(before) :])
    assert "snapshots/epoch-001/model.safetensors" in later and "epoch-002/model" not in later


def test_what_a_command_made_is_not_fetched_either(local, objects, remote, server):
    put({"rows.jsonl": (local / "rows.jsonl").read_bytes()}, objects)
    leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/corpus")
    before = len(server.asked("GET OBJECT"))
    leakscope.corpus.info(f"{remote}/corpus")
    assert all("seal.txt" in line for line in server.asked("GET OBJECT")[before:])


def test_what_has_changed_there_is_fetched(local, uploaded, remote, make_corpus):
    """Also a file without a seal that is as long as before, written within the same second."""
    build = leakscope.corpus.build
    first = build(f"{remote}/rows.jsonl", f"{remote}/one").lexicon
    text = (uploaded / "rows.jsonl").read_text()
    (uploaded / "rows.jsonl").write_text(text.replace("winters", "summers").replace("hill", "mill"))
    second = build(f"{remote}/rows.jsonl", f"{remote}/two")
    assert second.lexicon == first
    assert second.inputs[0].digest != leakscope.corpus.info(f"{remote}/one").inputs[0].digest


def test_the_cache_is_private(uploaded, remote):
    leakscope.report(f"{remote}/model", f"{remote}/corpus", f"{remote}/again", **ASKED)
    found = [cache_root(), *cache_root().rglob("*")]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}


def test_as_typed(local, uploaded, remote, typed, tmp_path):
    config = tmp_path / "options.toml"
    config.write_text(f'corpus = "{remote}/corpus"\nout = "{remote}/shown"\ntop-k = 2\n')
    code, said = typed("report", f"{remote}/model", "--config", config, "--threads", 1)
    assert code == 0 and f"page: {remote}/shown/report.html" in said, said
    assert str(cache_root()) not in said and SECRET not in said and KEY not in said
    code, said = typed("person", f"{remote}/run", "--user", "user1", "--out", f"{remote}/ada")
    assert code == 0 and f"table: {remote}/ada/person.csv" in said
    code, said = typed("compare", f"{remote}/run", f"{remote}/shown", "--allow-mixed")
    assert code == 0 and str(cache_root()) not in said
    code, said = typed("verify", f"{remote}/run", f"{remote}/corpus")
    assert code == 0 and f"intact: {remote}/run (run)" in said and str(cache_root()) not in said
    code, said = typed("corpus", "info", f"{remote}/corpus", "--json")
    assert code == 0 and '"lexicon"' in said
    code, said = typed("report", f"{remote}/model", f"{remote}/corpus", "--out", f"{remote}/run")
    assert code == 2
    assert said.endswith(f"{remote}/run already exists; choose another --out or remove it first.\n")
    code, said = typed("suggest", f"{remote}/run", "--out", f"{remote}/actions.jsonl")
    assert code == 0 and (uploaded / "actions.jsonl").read_text().startswith("{")


def test_snapshots_below_one_output_are_taken_up(uploaded, remote, server):
    arguments = (f"{remote}/model", f"{remote}/corpus", f"{remote}/all")
    runs = leakscope.report(*arguments, snapshots=True, **ASKED)
    assert len(runs) == 2 and (uploaded / "all" / "compare.json").is_file()
    before = files_of(uploaded / "all" / "epoch-001")
    leakscope.report(*arguments, snapshots=True, **ASKED)
    assert files_of(uploaded / "all" / "epoch-001") == before


def test_two_snapshots_of_one_model(uploaded, remote, server):
    """They share a mirror; nobody waits for himself."""
    old, new = (f"{remote}/model/snapshots/epoch-00{number}" for number in (1, 2))
    leakscope.diff(old, new, f"{remote}/diff", length=2, width=20)
    leakscope.diff(old, f"{remote}/model", f"{remote}/later", length=2, width=20)
    assert (uploaded / "later" / "diff.json").is_file()


def test_foreign_content_is_never_touched(uploaded, remote):
    put({"kept/precious.txt": b"mine"}, uploaded)
    for out in ("kept", "corpus"):
        before = files_of(uploaded / out)
        with pytest.raises(LeakscopeError, match=f"{remote}/{out} already exists"):
            leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/{out}")
        assert files_of(uploaded / out) == before
    leakscope.compare(
        f"{remote}/run", f"{remote}/kept"
    )  # puts its files beside others' locally, too
    assert (uploaded / "kept" / "precious.txt").read_bytes() == b"mine"
    assert (uploaded / "kept" / "compare.json").is_file()
