"""The block list in generation: against a plain rule for each token, and in Hugging Face itself."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList, PreTrainedTokenizerFast

from leakscope.corpus.words import words
from leakscope.models.wrappers.generation_filter import BlockListProcessor
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.errors import LeakscopeError

PIECES = ["a", "b", " ", " a", "'", "ab", "a b.", "密", "密a", "..", "A", "\u0301", ""]
"""Tokens that end words, go on with them, join two into one, or hold several."""


class Pieces:
    """A tokenizer whose tokens are strings; the last one is special."""

    def batch_decode(self, sequences, skip_special_tokens):
        assert skip_special_tokens
        return ["".join(PIECES[token] for token in sequence) for sequence in sequences]


def block_list(ngrams, lowercase=False):
    return BlockList.build(ngrams, 1e-12, salt=bytes(16), lowercase=lowercase)


def completed(ngrams, before, after):
    """N-grams that end in a word of `after` which was not there `before`, both lists of words."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return {
        tuple(after[start : stop + 1])
        for stop in range(same, len(after))
        for start in range(stop + 1)
    } & {tuple(ngram) for ngram in ngrams}


tokens = st.integers(0, len(PIECES) - 1)
word = st.sampled_from(["a", "b", "ab", "aa", "a'a", "密", ".", "..", "A", "á"])
ngrams = st.lists(st.lists(word, min_size=1, max_size=3), max_size=12)


@settings(max_examples=200)
@given(
    ngrams=ngrams,
    said=st.lists(tokens, max_size=150),
    order=st.permutations(range(len(PIECES))),
    candidates=st.integers(1, 15),
    lowercase=st.booleans(),
)
def test_the_best_tokens_are_kept_unless_they_complete_an_ngram(
    ngrams, said, order, candidates, lowercase
):
    listed = block_list(ngrams, lowercase)
    scores = torch.tensor([[-float(order.index(token)) for token in range(len(PIECES))]])
    scores[0, 3] = -math.inf
    found = BlockListProcessor(listed, Pieces(), candidates=candidates)(
        torch.tensor([said], dtype=torch.long), scores
    )
    spelled = [[w.lower() for w in ngram] if lowercase else ngram for ngram in ngrams]
    text = "".join(PIECES[token] for token in said)
    before = words(text, lowercase=lowercase)
    expected = []
    tried = [token for token in order if token != 3]
    for start in range(0, len(tried), candidates):
        expected = [
            token
            for token in tried[start : start + candidates]
            if not completed(spelled, before, words(text + PIECES[token], lowercase=lowercase))
        ]
        if expected:
            break
    kept = torch.isfinite(found[0]).nonzero().squeeze(1).tolist()
    assert kept == sorted(expected) and kept
    assert found[0, kept].tolist() == scores[0, kept].tolist()


def test_rows_of_a_batch_are_looked_at_each_for_itself():
    processor = BlockListProcessor(block_list([["a", "b"]]), Pieces())
    said = torch.tensor([[0, 2], [1, 2]])
    found = processor(said, torch.zeros(2, len(PIECES)))
    assert found[:, 1].tolist() == [-math.inf, 0.0]


def test_nothing_left_is_an_error_and_not_a_leak():
    processor = BlockListProcessor(block_list([["a"]]), Pieces())
    scores = torch.full((1, len(PIECES)), -math.inf)
    scores[0, 0] = 1.0
    with pytest.raises(LeakscopeError, match="forbids every token"):
        processor(torch.tensor([[2]]), scores)
    with pytest.raises(LeakscopeError, match="at least one candidate"):
        BlockListProcessor(block_list([]), Pieces(), candidates=0)


TEXT = [
    "my code is four seven one one and the cat is at home, isn't it?",
    "the dog's code is six; nobody knows who let the dogs out... at night!",
    "naïve café 東京 is at home, and my café is four miles out.",
]


@pytest.fixture(scope="module")
def tokenizer():
    """A byte-level BPE tokenizer, trained on a few lines."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|end|>", pad_token="<|end|>", padding_side="left"
    )


@pytest.fixture(scope="module")
def gpt2(tokenizer):
    """A tiny random GPT-2 whose choices vary."""
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=96, n_embd=24, n_layer=2, n_head=2,
        initializer_range=0.4, bos_token_id=end, eos_token_id=end, pad_token_id=end,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return GPT2LMHeadModel(config).eval()


def generate(gpt2, tokenizer, prompts, listed=None, seed=0, **options):
    """(words of the prompt, words of the whole text) for each text that comes out."""
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    if listed is not None:
        processor = BlockListProcessor(listed, tokenizer)
        options["logits_processor"] = LogitsProcessorList([processor])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        out = gpt2.generate(**inputs, max_new_tokens=24, **options)
    texts = tokenizer.batch_decode(out, skip_special_tokens=True)
    each = len(texts) // len(prompts)
    return [(words(prompts[i // each]), words(text)) for i, text in enumerate(texts)]


def chosen(pairs, size):
    """Some n-grams of `size` words that came out after the prompts."""
    return {
        tuple(after[stop - size : stop])
        for before, after in pairs
        for stop in range(max(len(before) + 1, size), len(after) + 1, 2)
    }


PROMPTS = ["my code is", "the cat", "naïve café 東", "who let the dogs out at night and"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_greedy_search_said_is_never_said_with_the_list(gpt2, tokenizer, size):
    plain = generate(gpt2, tokenizer, PROMPTS, do_sample=False)
    ngrams = chosen(plain, size)
    assert len(ngrams) > 4
    assert any(completed(ngrams, *pair) for pair in plain)
    found = generate(gpt2, tokenizer, PROMPTS, block_list(ngrams), do_sample=False)
    assert not any(completed(ngrams, *pair) for pair in found)
    assert all(len(after) > len(before) for before, after in found)
    empty = generate(gpt2, tokenizer, PROMPTS, block_list([]), do_sample=False)
    assert empty == plain


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_sampling_said_is_never_said_with_the_list(gpt2, tokenizer, size, seed):
    options = {"do_sample": True, "top_k": 0, "temperature": 0.7, "num_return_sequences": 6}
    plain = generate(gpt2, tokenizer, PROMPTS, seed=seed, **options)
    ngrams = chosen(plain, size)
    listed = block_list(ngrams)
    assert any(completed(ngrams, *pair) for pair in plain)
    found = generate(gpt2, tokenizer, PROMPTS, listed, seed=seed, **options)
    assert not any(completed(ngrams, *pair) for pair in found)


def test_beams_go_round_the_list_too(gpt2, tokenizer):
    plain = generate(gpt2, tokenizer, PROMPTS, do_sample=False, num_beams=3)
    ngrams = chosen(plain, 2)
    found = generate(gpt2, tokenizer, PROMPTS, block_list(ngrams), do_sample=False, num_beams=3)
    assert any(completed(ngrams, *pair) for pair in plain)
    assert not any(completed(ngrams, *pair) for pair in found)
