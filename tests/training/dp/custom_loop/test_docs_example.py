"""The example in `docs/privacy.md`, run as it stands, with a tiny model in place of the hub's."""

import re
from pathlib import Path

import tiny_causal
from leakscope.records.models.carried_privacy import read_carried
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.training.dp.accounting.accountant import epsilon

PAGE = Path(__file__).parents[4] / "docs" / "privacy.md"


def test_the_documented_fine_tuning_runs(tmp_path, monkeypatch, capsys):
    words = tiny_causal.tokenizer("bytes")
    words.save_pretrained(tmp_path / "base")
    tiny_causal.network("gpt2", len(words)).save_pretrained(tmp_path / "base")
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [code for code in found if "make_private" in code]
    assert example.count('"distilgpt2"') == 2
    monkeypatch.chdir(tmp_path)
    exec(compile(example.replace('"distilgpt2"', '"base"'), str(PAGE), "exec"), {})
    record = read_carried(Path("adapter-50")).record
    assert isinstance(record, PrivacyRecord)
    assert read_carried(Path("adapter-25")).record.steps == 25
    assert record.epsilon == epsilon(record.noise_multiplier, 0.2, 50, record.delta)
    assert 3.9 < record.epsilon <= 4
    assert (record.unit, record.units, record.steps, record.lost_steps) == ("user", 100, 50, 0)
    assert not record.insecure_seed
    assert Path("adapter-50", "adapter_model.safetensors").exists()
    printed = capsys.readouterr().out
    assert "50 of 50 epsilon" in printed and record.summary() in printed
