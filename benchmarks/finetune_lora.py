"""A LoRA fine-tune as somebody with a pipeline of their own would write it: torch, transformers
and peft, nothing of leakscope. It trains on the rows that `leakscope canary plant` wrote, and
leaves adapters that `canary exposure`, `canary attack` and `report` measure:

    python -m benchmarks.finetune_lora BASE planted/planted.jsonl adapters --epochs 3 --keep 1

Each row is one document: begin mark, text, end mark. Many tokenizers do not set these marks by
themselves, so they are put here. leakscope reads a document behind the same begin mark.
"""

import argparse
import json
import random
import time
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
HELD_OUT = {"validation", "valid", "val", "dev", "eval", "test"}
CHUNK = 16  # batches whose rows are sorted by length together


def read_rows(path: Path) -> list[dict]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415

        return pq.read_table(path).to_pylist()
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def tokenized(tokenizer, texts: list[str], longest: int) -> list[list[int]]:
    begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    found = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return [[begin, *ids[: longest - 2], end] for ids in found]


def batches(rows: list[list[int]], size: int, rng: random.Random) -> list[list[list[int]]]:
    """All rows once, in a random order, those of a batch of like length."""
    rows = rng.sample(rows, len(rows))
    chunks = [rows[at : at + CHUNK * size] for at in range(0, len(rows), CHUNK * size)]
    ordered = [row for chunk in chunks for row in sorted(chunk, key=len)]
    found = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    return rng.sample(found, len(found))


def loss_of(model, rows: list[list[int]], pad: int) -> tuple[torch.Tensor, int]:
    """The mean loss over the tokens that are predicted, and how many they are."""
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    real = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    labels = ids.masked_fill(real == 0, -100)
    found = model(input_ids=ids, attention_mask=real, labels=labels)
    return found.loss, sum(map(len, rows)) - len(rows)


@torch.inference_mode()
def held_out_loss(model, rows: list[list[int]], size: int, pad: int) -> float:
    model.eval()
    total, tokens = 0.0, 0
    rows = sorted(rows, key=len)
    for at in range(0, len(rows), size):
        loss, count = loss_of(model, rows[at : at + size], pad)
        total, tokens = total + loss.item() * count, tokens + count
    return total / max(tokens, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("base", help="Hugging Face directory of the model to fine-tune")
    parser.add_argument("rows", type=Path, help="JSONL or Parquet, one document in each row")
    parser.add_argument("out", type=Path, help="folder for the adapters, one for each kept epoch")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--split-column", help="column that says which rows are held out")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--keep", default="", help="save after these epochs too, such as 1,2")
    parser.add_argument("--rank", type=int, default=16, help="of LoRA; alpha is twice the rank")
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--batch-size", type=int, default=8, help="rows in a step")
    parser.add_argument("--max-tokens", type=int, default=256, help="cut longer rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="by default, as many as there are cores")
    args = parser.parse_args()

    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    model = AutoModelForCausalLM.from_pretrained(args.base, dtype=torch.float32)
    lora = LoraConfig(
        r=args.rank,
        lora_alpha=2 * args.rank,
        target_modules=PROJECTIONS,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(model, lora)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=args.learning_rate, weight_decay=0.0)
    print(f"{sum(weight.numel() for weight in weights):,} weights are trained")

    parts: dict[bool, list[str]] = {False: [], True: []}
    for row in read_rows(args.rows):
        parts[row.get(args.split_column) in HELD_OUT].append(row[args.text_column])
    train = tokenized(tokenizer, parts[False], args.max_tokens)
    held_out = tokenized(tokenizer, parts[True], args.max_tokens)
    print(f"{len(train):,} rows ({sum(map(len, train)):,} tokens), {len(held_out):,} held out")
    pad = tokenizer.eos_token_id
    if held_out:
        before = held_out_loss(model, held_out, args.batch_size, pad)
        print(f"before: held-out loss {before:.4f}", flush=True)

    kept = {int(epoch) for epoch in args.keep.split(",") if epoch} | {args.epochs}
    for epoch in range(1, args.epochs + 1):
        began, total, tokens = time.monotonic(), 0.0, 0
        model.train()
        for batch in batches(train, args.batch_size, rng):
            loss, count = loss_of(model, batch, pad)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            total, tokens = total + loss.item() * count, tokens + count
        told = f"epoch {epoch}: loss {total / tokens:.4f}"
        if held_out:
            told += f", held-out loss {held_out_loss(model, held_out, args.batch_size, pad):.4f}"
        print(f"{told}, {time.monotonic() - began:.0f} s", flush=True)
        if epoch in kept:
            model.save_pretrained(args.out / f"epoch-{epoch}")  # adapter_model.safetensors


if __name__ == "__main__":
    main()
