"""Every command of the command line, given paths in one folder, which is local or a URL.

`{at}` stands for that folder. Lines go from top to bottom: each reads what those above it have
made, and what `prepared` has put there.
"""

import json
import subprocess
from pathlib import Path

import whole_run
from saved_causal import saved_adapter
from tiny_causal import CORPUS

SHAPE = "--arch gru --embedding 16 --hidden 24 --batch-size 8 --learning-rate 0.02 --threads 1"
FEW = "--users 4 --schedule 1,3 --controls 3 --template {{words:3}}"
SERVED = "--api-key-env SERVED_KEY --max-requests 4000"
TRAININGS = f"--trainings {{at}}/trainings.toml {SHAPE} --epochs 2"
SIGNER = "--signers {at}/signers --signer ada@example.org"
LINES = f"""
corpus synth --users 12 --words 900 --out {{at}}/synth
corpus build {{at}}/synth/data.parquet --out {{at}}/of-synth
corpus build {{at}}/rows.jsonl --validation 0.2 --shard-words 400 --out {{at}}/corpus
corpus build {{at}}/few.jsonl --validation 0 --out {{at}}/few
corpus info {{at}}/corpus --json
train {{at}}/corpus {SHAPE} --epochs 6 --out {{at}}/model
train {{at}}/of-synth {SHAPE} --epochs 1 --out {{at}}/general
train {{at}}/corpus {SHAPE} --epochs 1 --warm-start {{at}}/general --out {{at}}/warm
train {{at}}/corpus {SHAPE} --epochs 1 --vocabulary-from {{at}}/model --out {{at}}/same-words
train {{at}}/of-synth {SHAPE} --epochs 1 --mitigation dp --noise-multiplier 1 --sampling-rate 0.5 --vocabulary-users 2 --out {{at}}/private
export {{at}}/private --public --out {{at}}/published
probe {{at}}/published 'the old'
report {{at}}/model {{at}}/corpus --threads 1 --top-k 2 --reveal --out {{at}}/run --public crossfit --folds 2 --public-dir {{at}}/folds
report {{at}}/model/snapshots/epoch-002 {{at}}/corpus --threads 1 --top-k 2 --out {{at}}/early --public {{at}}/folds/crossfit-2 --stand-ins {{at}}/folds/crossfit-2 --users {{at}}/users.txt
report {{at}}/warm {{at}}/corpus --threads 1 --out {{at}}/of-warm --public retrain --warm-start {{at}}/general --public-dir {{at}}/retrained
compare {{at}}/run {{at}}/early --allow-mixed --out {{at}}/compared
person {{at}}/run --user user1 --corpus {{at}}/corpus --out {{at}}/person
render {{at}}/run --redact --out {{at}}/redacted
render {{at}}/redacted --reveal --corpus {{at}}/corpus --out {{at}}/revealed
harden {{at}}/run --corpus {{at}}/corpus --threads 1 --also {{at}}/early --out {{at}}/hardened
report {{at}}/model {{at}}/corpus --threads 1 --block-list {{at}}/hardened/blocklist.bloom --out {{at}}/behind
probe {{at}}/model 'the old' --block-list {{at}}/hardened/blocklist.bloom
suggest {{at}}/run --corpus {{at}}/corpus --most 5 --out {{at}}/actions.jsonl
corpus show {{at}}/corpus --drop {{at}}/actions.jsonl
corpus clean {{at}}/corpus --drop {{at}}/actions.jsonl --scrub email --out {{at}}/cleaned
canary plant {{at}}/corpus {FEW} --real {{at}}/model --out {{at}}/planted
train {{at}}/planted/corpus {SHAPE} --epochs 2 --out {{at}}/later
canary exposure {{at}}/later {{at}}/planted --samples 200 --bootstrap 10 --out {{at}}/exposed
canary attack {{at}}/later {{at}}/planted --beam 2 --out {{at}}/attacked
canary plant {{at}}/corpus --coins user --canaries 40 --template {{{{words:3}}}} --out {{at}}/tossed
train {{at}}/tossed/corpus {SHAPE} --epochs 1 --out {{at}}/with-coins
canary bound {{at}}/with-coins {{at}}/tossed --reference {{at}}/model --claimed 3 --delta 0.001 --out {{at}}/bound
diff {{at}}/model {{at}}/later --length 2 --width 20 --old-corpus {{at}}/corpus --new-corpus {{at}}/planted/corpus --canaries {{at}}/planted --sequences {{at}}/sequences.txt --out {{at}}/diff
study mitigations {{at}}/corpus {TRAININGS} {FEW} --target 400 --evaluations 1 --samples 200 --bootstrap 10 --group-users 1 --out {{at}}/mitigations
study updates {{at}}/corpus {TRAININGS} --insertions 2 --scenario specialize --public-model {{at}}/model --length 2 --width 20 --out {{at}}/updates
probe {{at}}/adapter --base {{at}}/base 'the cat'
report {{at}}/adapter {{at}}/few --base {{at}}/base --trained-on all --threads 1 --out {{at}}/of-adapter
canary plant {{at}}/few --users 2 --schedule 1 --controls 1 --template {{{{words:2}}}} --out {{at}}/few-planted
canary plant {{at}}/few --coins user --canaries 40 --template {{{{words:2}}}} --out {{at}}/few-tossed
canary exposure {{at}}/adapter {{at}}/few-planted --base {{at}}/base --samples 100 --bootstrap 10 --out {{at}}/few-exposed
canary attack {{at}}/adapter {{at}}/few-planted --base {{at}}/base --beam 2 --out {{at}}/few-attacked
canary bound {{at}}/adapter {{at}}/few-tossed --base {{at}}/base --claimed 3 --delta 0.001 --out {{at}}/few-bound
diff {{at}}/base {{at}}/adapter --base {{at}}/base --length 2 --width 20 --out {{at}}/few-diff
report {{url}} {{at}}/few {SERVED} --answers {{at}}/answers --trained-on all --threads 1 --out {{at}}/of-served
canary exposure {{url}} {{at}}/few-planted {SERVED} --answers {{at}}/answers-1 --samples 100 --bootstrap 10 --out {{at}}/served-exposed
canary attack {{url}} {{at}}/few-planted {SERVED} --answers {{at}}/answers-2 --beam 1 --out {{at}}/served-attacked
canary bound {{url}} {{at}}/few-tossed {SERVED} --answers {{at}}/answers-3 --claimed 3 --delta 0.001 --out {{at}}/served-bound
verify {{at}} --json
verify {{at}}/model --sign {{at}}/key
verify {{at}}/model {SIGNER}
completion bash
"""  # noqa: E501
FORECASTS = f"""
corpus build {{at}}/rows.jsonl --dry-run --out {{at}}/new
corpus clean {{at}}/corpus --scrub email --dry-run --out {{at}}/new
train {{at}}/corpus {SHAPE} --epochs 1 --dry-run --out {{at}}/new
report {{at}}/model {{at}}/corpus --threads 1 --public crossfit --folds 2 --dry-run --out {{at}}/new
canary exposure {{at}}/later {{at}}/planted --samples 200 --dry-run --out {{at}}/new
canary attack {{at}}/later {{at}}/planted --dry-run --out {{at}}/new
diff {{at}}/model {{at}}/later --length 2 --width 20 --dry-run --out {{at}}/new
study mitigations {{at}}/corpus {TRAININGS} --target 400 --dry-run --out {{at}}/new
study updates {{at}}/corpus {TRAININGS} --insertions 2 --dry-run --out {{at}}/new
"""
"""What is only asked what it would take, after all lines."""
SLOW = "demo --threads 1 --out {at}/demo"


def lines(text: str) -> list[str]:
    """The commands of a text, one in each line."""
    return [line for line in text.splitlines() if line]


def prepared(folder: Path) -> None:
    """What the commands are given beside what they make themselves."""
    rows = "".join(json.dumps(row) + "\n" for row in whole_run.rows())
    (folder / "rows.jsonl").write_text(rows)
    few = [{"user": f"u{at % 3}", "text": text} for at, text in enumerate(CORPUS[:6])]
    (folder / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in few))
    (folder / "users.txt").write_text("user0\nuser1\n")
    (folder / "sequences.txt").write_text("the old house\nhas seen many\n")
    (folder / "trainings.toml").write_text('[plain]\n[hidden]\nmitigation = "triplet"\n')
    saved_adapter(folder)
    config = folder / "adapter" / "adapter_config.json"
    config.write_text(config.read_text().replace(f"{folder}/", ""))
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada@example.org", "-f"]
    subprocess.run([*words, folder / "key"], check=True)
    (folder / "signers").write_text("ada@example.org " + (folder / "key.pub").read_text())
