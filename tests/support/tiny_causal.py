"""Untrained causal networks of a handful of units, and tokenizers trained on the spot."""

from functools import cache

import numpy as np
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from leakscope.corpus.words import spans
from leakscope.records.documents import Documents
from leakscope.records.ragged import offsets_of

CORPUS = [
    "the cat sat on the mat, and the dog sat on the cat.",
    "don't call me before nine o'clock; call the office at 555-0199 instead!",
    "Über naïve café résumé, coöperate. Straße",
    "she sells sea shells by the sea shore  and   the shells she sells are sea shells",
    "日本語 の 文章 です 漢字 漢字",
    "наша Маша громко плачет",
    "in the end of the day, at the end of the road\nof the day",
] * 4


@cache
def backend(kind: str) -> Tokenizer:
    """`bytes`: byte-level BPE as GPT-2 has it; `trimmed`: the same with trimmed offsets;
    `unigram` and `pieces`: SentencePiece-style, the latter a BPE that merges across spaces and
    falls back to bytes; `wordpiece`: as BERT has it, dropping accents, without begin and end.
    """
    if kind in ("bytes", "trimmed"):
        found = Tokenizer(models.BPE())
        found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        found.decoder = decoders.ByteLevel()
        found.post_processor = processors.ByteLevel(trim_offsets=kind == "trimmed")
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    elif kind == "unigram":
        found = Tokenizer(models.Unigram())
        found.normalizer = normalizers.NFKC()
        found.pre_tokenizer = pre_tokenizers.Metaspace()
        found.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=150,
            special_tokens=["<unk>", "<s>", "</s>"],
            unk_token="<unk>",
            show_progress=False,
        )
    elif kind == "pieces":
        found = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        found.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        found.decoder = decoders.Sequence(
            [
                decoders.Replace("▁", " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
            ]
        )
        raw = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = trainers.BpeTrainer(
            vocab_size=480, special_tokens=["<unk>", "<s>", "</s>", *raw], show_progress=False
        )
    else:
        found = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        found.normalizer = normalizers.BertNormalizer()
        found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        found.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(
            vocab_size=200, special_tokens=["[PAD]", "[UNK]"], show_progress=False
        )
    found.train_from_iterator(CORPUS, trainer)
    if kind == "pieces":  # bytes are ordinary tokens: only training must be told of them
        found = _without_special_bytes(found)
    return found


def _without_special_bytes(trained: Tokenizer) -> Tokenizer:
    import json

    plain = json.loads(trained.to_str())
    plain["added_tokens"] = [one for one in plain["added_tokens"] if "0x" not in one["content"]]
    return Tokenizer.from_str(json.dumps(plain))


MARKS = {
    "bytes": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
    "trimmed": {"eos_token": "<|endoftext|>"},
    "unigram": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "pieces": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "wordpiece": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
}
KINDS = list(MARKS)


def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A fast Hugging Face tokenizer."""
    return PreTrainedTokenizerFast(tokenizer_object=backend(kind), **MARKS[kind])


def network(kind: str, entries: int, seed: int = 0, context: int = 64, scale: float = 0.4):
    """A tiny random GPT-2 or Llama with large weights, so that its choices vary."""
    if kind == "gpt2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": context}
        config = GPT2Config(vocab_size=entries, bos_token_id=0, eos_token_id=0, **shape)
        made = GPT2LMHeadModel(config)
    else:
        config = LlamaConfig(
            vocab_size=entries,
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=context,
            tie_word_embeddings=False,
            bos_token_id=1,
            eos_token_id=2,
        )
        made = LlamaForCausalLM(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if "norm" not in name and "ln_" not in name:
                weight.normal_(0.0, scale, generator=generator)
    return made.eval().requires_grad_(False)


@torch.no_grad()
def fluent(made, tok):
    """The same network, rather choosing tokens that begin words than pieces of characters."""
    weight = made.get_output_embeddings().weight
    for id, raw in enumerate(tok.convert_ids_to_tokens(list(range(len(tok))))):
        begins = raw[0] in "▁Ġ" and len(raw) > 1
        weight[id] *= 1.5 if begins else 0.5 if raw.isascii() and "<" not in raw else 0.1
    return made


@torch.inference_mode()
def spoken(made, tok, documents: int, length: int, seed: int = 0) -> list[str]:
    """Texts that a network predicts in good part: mostly one of its first choices that the
    tokenizer would write so.
    """
    rng = np.random.default_rng(seed)
    start = tok.bos_token_id if tok.bos_token_id is not None else tok.eos_token_id
    lead = [] if start is None else [start]
    texts = []
    for _ in range(documents):
        text, ids = "", []
        for _ in range(int(rng.integers(1, length + 1))):
            seen = [*lead, *ids]
            order = rng.permutation(len(tok)).tolist()
            if seen and rng.random() < 0.85:
                order = made(torch.tensor([seen])).logits[0, -1].argsort(descending=True).tolist()
            skipped = int(rng.random() < 0.3)
            for token in order[:25]:
                longer = tok.decode(
                    [*ids, token], skip_special_tokens=True, clean_up_tokenization_spaces=False
                )
                again = tok(longer, add_special_tokens=False)["input_ids"]
                if again == [*ids, token] and longer.isprintable() and "\ufffd" not in longer:
                    skipped -= 1
                    if skipped < 0:
                        text, ids = longer, again
                        break
        texts.append(text)
    return texts


def documents(texts: list[str]) -> Documents:
    """Documents that carry texts, all of one user."""
    lengths = [len(spans(text)) for text in texts]
    return Documents(
        np.zeros(len(texts), np.int32),
        np.arange(len(texts), dtype=np.int64),
        offsets_of(np.array(lengths, np.int64)),
        np.zeros(sum(lengths), np.int32),
        texts,
    )
