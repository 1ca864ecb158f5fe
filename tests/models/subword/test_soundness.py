"""A tokenizer that would make every word wrong, and so a report clean, is refused at once."""

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from leakscope.models.subword.causal_model import causal_model
from leakscope.models.subword.loading import load_causal
from leakscope.models.subword.soundness import check_tokenizer
from leakscope.records.errors import LeakscopeError
from saved_causal import saved
from tiny_causal import KINDS, network, tokenizer


@pytest.mark.parametrize(("kind", "tokens"), [("gpt2", "bytes"), ("llama", "pieces")])
def test_a_directory_without_tokenizer_files_is_refused(tmp_path, kind, tokens):
    saved(tmp_path / "model", kind, tokens)
    for file in (tmp_path / "model").glob("*token*"):
        file.unlink()
    with pytest.raises(LeakscopeError, match="tokenizer"):
        load_causal(tmp_path / "model")


def letter_tokenizer(decoder=None, normalizer=None):
    """Every letter of ASCII is a token."""
    vocabulary = {"<s>": 0} | {chr(97 + number): 1 + number for number in range(26)}
    vocabulary |= {str(digit): 27 + digit for digit in range(10)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.decoder = decoder or decoders.Fuse()
    if normalizer is not None:
        made.normalizer = normalizer
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>")


def test_a_tokenizer_that_gives_no_tokens_is_refused():
    bare = Tokenizer(models.BPE(vocab={"<s>": 0}, merges=[]))
    tok = PreTrainedTokenizerFast(tokenizer_object=bare, bos_token="<s>")
    with pytest.raises(LeakscopeError, match="gives no tokens for text"):
        causal_model(network("gpt2", 4), tok)


def test_a_tokenizer_that_only_says_unknown_is_refused():
    bare = Tokenizer(models.WordLevel({"<unk>": 0, "<s>": 1}, unk_token="<unk>"))
    tok = PreTrainedTokenizerFast(tokenizer_object=bare, bos_token="<s>", unk_token="<unk>")
    with pytest.raises(LeakscopeError, match="gives no tokens for text"):
        causal_model(network("gpt2", 4), tok)


def test_a_tokenizer_that_loses_letters_is_refused():
    blind = letter_tokenizer(normalizer=normalizers.Replace("e", "a"))
    check_tokenizer(blind, network("gpt2", 37))  # most words come back
    masked = letter_tokenizer(
        normalizer=normalizers.Sequence(
            [normalizers.Lowercase(), *(normalizers.Replace(one, "x") for one in "aeiou012345")]
        )
    )
    with pytest.raises(LeakscopeError, match="does not give back the letters"):
        check_tokenizer(masked, network("gpt2", 37))


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizers_that_normalize_are_let_through(kind):
    tok = tokenizer(kind)
    check_tokenizer(tok, network("gpt2", len(tok)))
    check_tokenizer(tok, network("gpt2", len(tok) + 28))  # a matrix that is rounded up


def test_lower_casing_loses_nothing_that_is_needed():
    check_tokenizer(letter_tokenizer(normalizer=normalizers.Lowercase()), network("gpt2", 37))


def test_a_tokenizer_beyond_the_embedding_is_refused():
    tok = tokenizer("bytes")
    with pytest.raises(LeakscopeError, match="tokens beyond the 399 that the model knows"):
        causal_model(network("gpt2", 399), tok)
    tok.add_special_tokens({"pad_token": "<pad>"})  # marks that text never has do no harm
    causal_model(network("gpt2", len(tok) - 1), tok)


def test_the_tokenizer_of_a_much_smaller_model_is_refused():
    with pytest.raises(LeakscopeError, match="400 tokens and the model knows 1,000"):
        causal_model(network("gpt2", 1000), tokenizer("bytes"))
