"""What `make_private` trained is known to `report`: from the loop to the gate of a pipeline."""

import json
import shutil

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file

import tiny_causal
from leakscope.cli.app import main
from leakscope.commands.compare import compare
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.carried_privacy import (
    CARRIED,
    OTHER_WEIGHTS,
    UNREADABLE,
    read_carried,
    weight_files,
)
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.comparison.compared_table import compare_rows
from leakscope.reporting.facts.guarantee import guarantee_of
from leakscope.training import PrivacySettings, make_private

USERS = 12


def texts(user):
    return [f"user {user} sat on the mat", f"the dog of user {user} sat on the cat"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A base, an adapter and a whole model, trained privately; the corpus, the adapter's record."""
    root = tmp_path_factory.mktemp("trained")
    tok = tiny_causal.tokenizer("bytes")
    base = tiny_causal.network("gpt2", len(tok))
    for folder in ("base", "whole"):
        tok.save_pretrained(root / folder)
    base.save_pretrained(root / "base")
    data = [[[0, *tok(text)["input_ids"]] for text in texts(user)] for user in range(USERS)]
    settings = PrivacySettings(rate=0.5, noise_multiplier=1.5)
    config = peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True)
    adapter = peft.get_peft_model(base.from_pretrained(root / "base"), config)
    whole = base.from_pretrained(root / "base").requires_grad_(True)
    for name, network in (("adapter", adapter), ("whole", whole)):
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=1e-3)
        out = root / f"spent-{name}"
        with make_private(network, optimizer, data, settings, steps=4, out=out) as private:
            list(private)
            network.save_pretrained(root / name)
            assert private.save_record(root / name) == root / name / CARRIED
            record = private.record()
    rows = [Row(f"u{user}", text) for user in range(USERS) for text in texts(user)]
    build_rows(rows, root / "corpus", settings=BuildSettings(validation=0.2), split_given=True)
    return root, record


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["leakscope", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    printed = capsys.readouterr()
    return stopped.value.code or 0, printed.out, printed.err


@pytest.mark.parametrize("name", ["adapter", "whole"])
def test_a_report_shows_and_gates_on_what_the_loop_spent(
    name, trained, tmp_path, monkeypatch, capsys
):
    root, record = trained
    assert 1 < record.epsilon < 20 and not record.doubts()
    for bound, code in ((record.epsilon + 0.1, 0), (record.epsilon - 0.1, 1)):
        out = tmp_path / f"run-{code}"
        given = ("report", root / name, root / "corpus", "--out", out, "--threads", 1)
        found, printed, told = run(monkeypatch, capsys, *given, "--fail-on", f"dp_epsilon>{bound}")
        assert found == code, told
    assert f"gate: FAIL dp_epsilon>{bound}: it is" in told
    assert "DP epsilon" in printed and "of 12" in printed, printed
    manifest, _ = open_run(out)
    assert manifest.model.mitigation == record
    assert guarantee_of(manifest).epsilon == record.epsilon
    page = (out / "report.html").read_text(encoding="utf-8")
    assert record.accountant in page and record.caveats[0] in page
    (row,) = compare_rows(compare([out], tmp_path / "compared"))
    assert row["dp_epsilon"] == record.epsilon and row["privacy"]["phases"]
    assert "mitigation" not in row["reasons"]


def other_adapter(folder):
    path = folder / "adapter_model.safetensors"
    weights = {key: value + 1e-6 for key, value in load_file(path).items()}
    save_file(weights, path, {"format": "pt"})


def one_file_more(folder):
    save_file({"x": torch.zeros(1)}, folder / "more.safetensors")


def other_name(folder):
    (folder / "adapter_model.safetensors").rename(folder / "renamed.safetensors")


def garbled(folder):
    (folder / CARRIED).write_text("{")


def without_weights(folder):
    told = json.loads((folder / CARRIED).read_text())
    (folder / CARRIED).write_text(json.dumps(told | {"weights": {}}))


def of_a_later_version(folder):
    told = json.loads((folder / CARRIED).read_text())
    (folder / CARRIED).write_text(json.dumps(told | {"schema_version": 2}))


def endless(folder):
    told = (folder / CARRIED).read_text()
    (folder / CARRIED).write_text(told + " " * 2**21)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_adapter, OTHER_WEIGHTS),
        (one_file_more, OTHER_WEIGHTS),
        (other_name, OTHER_WEIGHTS),
        (garbled, UNREADABLE),
        (without_weights, UNREADABLE),
        (of_a_later_version, UNREADABLE),
        (endless, UNREADABLE),
        (lambda folder: (folder / CARRIED).unlink(), None),
    ],
)
def test_a_record_says_nothing_of_other_weights(change, reason, trained, tmp_path):
    root, record = trained
    folder = shutil.copytree(root / "adapter", tmp_path / "copy")
    assert read_carried(folder) == (record, None)
    change(folder)
    assert read_carried(folder) == (None, reason)


def test_a_gate_tells_why_the_record_says_nothing(trained, tmp_path, monkeypatch, capsys):
    root, _ = trained
    merged = peft.PeftModel.from_pretrained(
        tiny_causal.network("gpt2", 1).from_pretrained(root / "base"), root / "adapter"
    ).merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    tiny_causal.tokenizer("bytes").save_pretrained(tmp_path / "merged")
    shutil.copy(root / "adapter" / CARRIED, tmp_path / "merged")
    given = ("report", tmp_path / "merged", root / "corpus", "--out", tmp_path / "run")
    code, printed, told = run(
        monkeypatch, capsys, *given, "--threads", 1, "--fail-on", "dp_epsilon>8"
    )
    assert code == 2
    assert f"cannot be checked: {OTHER_WEIGHTS}." in " ".join(told.split())
    assert "not those that" in " ".join(printed.split())
    (row,) = compare_rows(compare([tmp_path / "run"], tmp_path / "compared"))
    assert row["dp_epsilon"] is None
    assert row["reasons"]["dp_epsilon"] == row["reasons"]["mitigation"] == OTHER_WEIGHTS


def loop(network, out):
    data = [[[1, 2, 3], [4, 5]]] * USERS
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    settings = PrivacySettings(rate=0.5, noise_multiplier=1.0)
    return make_private(network, torch.optim.SGD(weights, lr=0.1), data, settings, steps=3, out=out)


def test_a_record_is_written_only_beside_the_weights_of_the_loop(tmp_path):
    network = tiny_causal.network("gpt2", 19).requires_grad_(True)
    network.save_pretrained(tmp_path / "before")
    with loop(network, tmp_path / "spent") as private:
        private.take()
        with pytest.raises(LeakscopeError, match="are not those that the loop has trained"):
            private.save_record(tmp_path / "before")
        (tmp_path / "empty").mkdir()
        for folder in ("empty", "nowhere"):
            with pytest.raises(LeakscopeError, match="save the trained network there first"):
                private.save_record(tmp_path / folder)
        network.save_pretrained(tmp_path / "after")
        private.save_record(tmp_path / "after")
        private.take()
        with pytest.raises(LeakscopeError, match="are not those"):
            private.save_record(tmp_path / "after")
    assert not (tmp_path / "before" / CARRIED).exists()
    found = read_carried(tmp_path / "after").record
    assert isinstance(found, PrivacyRecord) and found.steps == 1
    assert [file.name for file in weight_files(tmp_path / "after")] == ["model.safetensors"]
    assert (tmp_path / "after" / CARRIED).stat().st_mode & 0o777 == 0o600
    with torch.no_grad():
        network.transformer.wpe.weight.data += 1  # by somebody else
    network.save_pretrained(tmp_path / "later")
    with pytest.raises(LeakscopeError, match="changed between"):
        private.save_record(tmp_path / "later")
