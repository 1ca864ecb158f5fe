"""What a Hugging Face network and its tokenizer must be before their answers can be trusted.
Both are run once on a short input. With a tokenizer that does not fit, no word would ever be
correct, and the report would look clean.
"""

import unicodedata
from typing import Any

import torch
from torch import Tensor

from leakscope.models.subword.output_heads import Head, LinearHead, PlainHead, call
from leakscope.models.subword.word_tokens import WordTokenizer
from leakscope.records.errors import LeakscopeError

ROWS, LENGTH = 2, 12
STRETCH = 64.0
"""Hidden states are tried this much larger too: soft-capping hardly shows on small logits."""
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-3}
"""How near, relative to the largest logit, the same sums in another order must be."""
CLOSE_IN_HALF = 5e-2
SAME = 0.01
"""Of that, where even the batch is the same, so that a causal network's sums are too."""
SCRIPTS = (
    "the of and you that was with have this from meet call night 1 2 3 4 5 6 7 8 9 0",
    "der und über une être los señor и не это мы και το את של في من",
    "है में ไทย 的 我 人 日本 です 이 우리",
)
PROBES = tuple(word for line in SCRIPTS for word in line.split())
"""Words of many scripts: a tokenizer need not know all of them."""
ENOUGH = 0.5
"""The share of known probes that must come back, and of the model's rows that must have a token:
matrices are only rounded up."""


def check_finite(network: Any, path: str) -> None:
    """Refuse weights with NaN or infinity."""
    for name, weight in network.state_dict().items():
        if weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            raise LeakscopeError(
                f"The weights in {path} are not finite: {name} has NaN or inf; save the "
                "model again from a sound checkpoint."
            )


@torch.inference_mode()
def sound_head(network: Any, context: int | None, padding: str) -> Head:
    """The head that gives the network's own logits, after checking that they are finite, depend
    on earlier tokens only, and do not change with padding.
    """
    inputs = _inputs(network, min(LENGTH, context or LENGTH))
    plain = call(network, inputs, *_whole(inputs)).logits
    if not bool(torch.isfinite(plain).all()):
        raise LeakscopeError(
            "The model's predictions are not finite; try dtype float32, or save it again."
        )
    _check_causal(network, inputs, plain)
    head: Head = PlainHead(network, plain.shape[-1])
    if _is_linear(network, inputs):
        head = LinearHead.of(network)
    _check_padding(head, inputs, padding, plain.dtype)
    return head


def close(found: Tensor, expected: Tensor, dtype: torch.dtype, share: float = 1.0) -> bool:
    """Whether two computations of the same logits agree."""
    allowed = share * CLOSE.get(dtype, CLOSE_IN_HALF) * (1 + float(expected.abs().max()))
    return bool((found - expected).abs().max() <= allowed)


def _inputs(network: Any, length: int) -> Tensor:
    entries = network.get_input_embeddings().weight.shape[0]
    generator = torch.Generator().manual_seed(0)
    return torch.randint(entries, (ROWS, length), generator=generator).to(network.device)


def _whole(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """(mask, positions) of inputs without padding."""
    positions = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape)
    return torch.ones_like(inputs), positions


def _check_causal(network: Any, inputs: Tensor, plain: Tensor) -> None:
    entries = network.get_input_embeddings().weight.shape[0]
    changed = inputs.clone()
    changed[:, -1] = (changed[:, -1] + 1) % entries
    again = call(network, changed, *_whole(changed)).logits
    if not close(again[:, :-1], plain[:, :-1], plain.dtype, SAME):
        raise LeakscopeError(
            "This model sees later words when it predicts earlier ones, as encoders do; give a "
            "causal language model."
        )


def _is_linear(network: Any, inputs: Tensor) -> bool:
    """Whether logits are the body's last hidden states times the output layer, and no more."""
    layer, body = network.get_output_embeddings(), network.base_model
    if type(layer) is not torch.nn.Linear or body is network:
        return False
    for stretch in (1.0, STRETCH):
        seen: list[Tensor] = []

        def stretched(
            module: Any, given: Any, output: Any, seen: list[Tensor] = seen, by: float = stretch
        ) -> Any:
            if hasattr(output, "last_hidden_state"):
                output.last_hidden_state = output.last_hidden_state * by
                seen.append(output.last_hidden_state)
            return output

        hook = body.register_forward_hook(stretched)
        try:
            logits = call(network, inputs, *_whole(inputs)).logits
        finally:
            hook.remove()
        if len(seen) != 1 or seen[0].shape[:2] != inputs.shape:
            return False
        bias = 0.0 if layer.bias is None else layer.bias.float()
        mine = seen[0].float() @ layer.weight.float().T + bias
        if mine.shape != logits.shape or not close(logits.float(), mine, logits.dtype):
            return False
    return True


def _check_padding(head: Head, inputs: Tensor, padding: str, dtype: torch.dtype) -> None:
    """The first row alone against the first row, cut, beside a longer one."""
    length = inputs.shape[1]
    short = max(1, length // 2)
    begin = length - short if padding == "left" else 0
    mask, padded = torch.ones_like(inputs), inputs.clone()
    mask[0], padded[0] = 0, 0
    mask[0, begin : begin + short], padded[0, begin : begin + short] = 1, inputs[0, :short]
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    alone = head.states(inputs[:1, :short], *_whole(inputs[:1, :short]))[0]
    beside = head.states(padded, mask, positions)[0, begin : begin + short]
    if not close(head.logits(beside), head.logits(alone), dtype):
        raise LeakscopeError(
            f"This model's predictions change with {padding} padding; use padding="
            f"{'right' if padding == 'left' else 'left'}."
        )


def check_tokenizer(tokenizer: Any, network: Any) -> None:
    """Refuse a tokenizer that cannot tell words of this network apart."""
    if not getattr(tokenizer, "is_fast", False):
        raise LeakscopeError(
            "This model's tokenizer does not say where its tokens are in the text; save it as a "
            "fast tokenizer (tokenizer.json)."
        )
    words = WordTokenizer(tokenizer)
    encoded = {probe: words.plain_ids(probe) for probe in PROBES}
    known = {probe: ids for probe, ids in encoded.items() if _is_known(words, ids)}
    if not known:
        raise LeakscopeError(
            "The tokenizer gives no tokens for text; save the model's own tokenizer beside it "
            "(tokenizer.json)."
        )
    returned = sum(_letters(_decoded(tokenizer, ids)) == _letters(p) for p, ids in known.items())
    if returned < ENOUGH * len(known):
        raise LeakscopeError(
            "The tokenizer does not give back the letters of the text that it read (case, accents "
            "and spaces aside), so its words cannot be told apart; give the tokenizer that the "
            "model was trained with."
        )
    _check_rows(words, network)


def _check_rows(words: WordTokenizer, network: Any) -> None:
    """Every token of text has a row in the network's matrices, and most rows have a token."""
    layers = (network.get_input_embeddings(), network.get_output_embeddings())
    rows = min(layer.weight.shape[0] for layer in layers if layer is not None)
    marks = set(words.special.tolist())  # a padding mark is often added behind the matrix's end
    ids = {int(id) for id in words.tokenizer.get_vocab().values()}
    beyond = any(id >= rows for id in ids - marks)
    if beyond or (words.start is not None and words.start >= rows):
        raise LeakscopeError(
            f"The tokenizer has tokens beyond the {rows:,} that the model knows; give the "
            "tokenizer that the model was trained with."
        )
    if len(ids) < ENOUGH * rows:
        raise LeakscopeError(
            f"The tokenizer has {len(ids):,} tokens and the model knows {rows:,}; give the "
            "tokenizer that the model was trained with."
        )


def _is_known(words: WordTokenizer, ids: list[int]) -> bool:
    """Whether these are tokens of text, none of them for unknown characters."""
    return bool(ids) and words.unknown not in ids and not set(words.special.tolist()) & set(ids)


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _letters(text: str) -> str:
    """The letters and digits alone, without case and accents: alignment needs the spans of words,
    not how a tokenizer normalizes them.
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isalnum())
