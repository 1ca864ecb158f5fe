"""The networks: token ids in, last hidden states out. The output layer is applied elsewhere,
because scoring and training need only parts of it (see `output`).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from leakscope.models.ranking.float_noise import NOISE
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.gru_reader import TIME_CHUNK, GruReader
from leakscope.models.word.step_threads import threads_for

StateReader = Callable[[Tensor], Iterator[Tensor]]
"""From token ids [n, t] to hidden states [n, t', h] in consecutive pieces of time."""
Cached = tuple[Tensor, Tensor]
"""Keys and values of a block, each [n, heads, t, width / heads]."""


class DropoutRows(NamedTuple):
    """Dropout for some rows of a batch whose other rows are computed elsewhere: what is kept is
    drawn for the whole batch, so that it is the same wherever a row is computed.
    """

    generator: torch.Generator
    rows: Tensor
    """[k] the rows that are computed here."""
    batch: tuple[int, int]
    """Rows and positions of the whole batch."""


Chance = torch.Generator | DropoutRows
"""What dropout draws from."""


def dropout(x: Tensor, rate: float, chance: Chance | None) -> Tensor:
    """Inverted dropout of x [n, t, width] with the caller's generator; none without one
    (evaluation).
    """
    if chance is None or rate == 0:
        return x
    if isinstance(chance, DropoutRows):
        whole = (*chance.batch, *x.shape[2:])
        drawn = torch.rand(whole, generator=chance.generator, device=x.device, dtype=x.dtype)
        drawn = drawn[chance.rows, : x.shape[1]]
    else:
        drawn = torch.rand(x.shape, generator=chance, device=x.device, dtype=x.dtype)
    return x * (drawn >= rate) / (1 - rate)


class Network(nn.Module):
    """An embedding, a body, and the weights of the output layer, for `entries` token ids."""

    def __init__(self, architecture: Architecture, entries: int) -> None:
        super().__init__()
        self.architecture = architecture
        self.entries = entries
        self.embedding = nn.Embedding(entries, architecture.embedding)
        self.output = nn.Linear(architecture.hidden, entries)

    noise = NOISE
    """How far apart two logits must be, relative to their size, to be told apart in float32."""
    batch_words = 8192
    """Words read at a time on a CPU: a recurrent step is one product, better the wider it is."""

    @property
    def context(self) -> int | None:
        """Longest input, or None if there is no limit."""
        return None

    @abstractmethod
    def hidden(self, tokens: Tensor, chance: Chance | None = None) -> Tensor:
        """[n, t] token ids to [n, t, hidden] states; position i sees tokens 0 to i."""

    def chunks(self, tokens: Tensor) -> Iterator[Tensor]:
        """The same states without dropout, in consecutive pieces of time."""
        yield self.hidden(tokens)

    @abstractmethod
    def read(self, tokens: Tensor) -> tuple[Tensor, Any]:
        """(the last hidden states [n, h] of token ids [n, t], what `step` goes on from), without
        dropout.
        """

    @abstractmethod
    def step(self, carried: Any, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """The same after one more of `tokens` [m] behind `rows` [m] of what was read."""

    def reader(self, words: int) -> StateReader:
        """`chunks`, made ready for about `words` words: what they share is computed once."""
        return self.chunks


class Recurrent(Network):
    """LSTM or GRU."""

    def __init__(self, architecture: Architecture, entries: int) -> None:
        super().__init__(architecture, entries)
        body = nn.LSTM if architecture.kind == "lstm" else nn.GRU
        self.body = body(
            architecture.embedding, architecture.hidden, architecture.layers, batch_first=True
        )

    def hidden(self, tokens: Tensor, chance: Chance | None = None) -> Tensor:
        """See `Network.hidden`."""
        rate = self.architecture.dropout
        states, _ = self.body(dropout(self.embedding(tokens), rate, chance))
        return dropout(states, rate, chance)

    def chunks(self, tokens: Tensor) -> Iterator[Tensor]:
        """See `Network.chunks`; the state is carried from piece to piece."""
        state = None
        for piece in torch.split(tokens, TIME_CHUNK, dim=1):
            states, state = self._carried(piece, state)
            yield states

    def read(self, tokens: Tensor) -> tuple[Tensor, Any]:
        """See `Network.read`; the body's own state is carried."""
        carried, states = None, tokens.new_empty(0)
        for piece in torch.split(tokens, TIME_CHUNK, dim=1):
            states, carried = self._carried(piece, carried)
        return states[:, -1], carried

    def _carried(self, piece: Tensor, state: Any) -> tuple[Tensor, Any]:
        with threads_for(len(piece), self.architecture.hidden):
            states, state = self.body(self.embedding(piece), state)
        return states, state

    def step(self, carried: Any, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """See `Network.step`."""
        lstm = isinstance(carried, tuple)
        chosen = tuple(part[:, rows] for part in carried) if lstm else carried[:, rows]
        states, longer = self.body(self.embedding(tokens)[:, None], chosen)
        return states[:, 0], longer

    def reader(self, words: int) -> StateReader:
        """A GRU over many words reads from a table; an LSTM's own kernel is fast already."""
        if isinstance(self.body, nn.GRU) and self.body.num_layers == 1 and words > self.entries:
            return GruReader(self.body, self.embedding.weight)
        return self.chunks


class Transformer(Network):
    """Decoder-only, learned positions, normalization before each branch."""

    noise = 100 * NOISE  # attention amplifies rounding at some positions (docs/experiments.md)
    batch_words = 2048  # what a layer passes on stays in the cache

    def __init__(self, architecture: Architecture, entries: int) -> None:
        super().__init__(architecture, entries)
        self.positions = nn.Embedding(architecture.context, architecture.hidden)
        self.blocks = nn.ModuleList(Block(architecture) for _ in range(architecture.layers))
        self.norm = nn.LayerNorm(architecture.hidden)

    @property
    def context(self) -> int | None:
        """The longest input that the position embeddings allow."""
        return self.architecture.context

    def hidden(self, tokens: Tensor, chance: Chance | None = None) -> Tensor:
        """See `Network.hidden`."""
        place = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.embedding(tokens) + self.positions(place)
        x = dropout(x, self.architecture.dropout, chance)
        for block in self.blocks:
            x = block(x, chance)
        return self.norm(x)  # type: ignore[no-any-return]

    def read(self, tokens: Tensor) -> tuple[Tensor, Any]:
        """See `Network.read`; the keys and values of every block are carried."""
        place = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.embedding(tokens) + self.positions(place)
        return self._through(x, [None] * len(self.blocks))

    def step(self, carried: Any, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Any]:
        """See `Network.step`; only as long as the input is within the context."""
        chosen = [(keys[rows], values[rows]) for keys, values in carried]
        place = chosen[0][0].shape[2]
        x = self.embedding(tokens) + self.positions.weight[place]
        return self._through(x[:, None], chosen)

    def _through(self, x: Tensor, before: Sequence[Cached | None]) -> tuple[Tensor, list[Cached]]:
        """All blocks over inputs [n, t, width] behind what each of them has seen before."""
        kept: list[Cached] = []
        for block, seen in zip(self.blocks, before, strict=True):
            x, longer = block.carrying(x, seen)  # type: ignore[operator]
            kept.append(longer)
        return self.norm(x[:, -1]), kept


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each added to its input."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        width = architecture.hidden
        self.heads, self.rate = architecture.heads, architecture.dropout
        self.norm_attention, self.norm_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, chance: Chance | None) -> Tensor:
        """[n, t, width] to the same shape."""
        query, key, value = self._heads_of(x)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self._added(x, mixed, chance)

    def carrying(self, x: Tensor, before: Cached | None) -> tuple[Tensor, Cached]:
        """The same without dropout, behind the keys and values of earlier inputs; if there are
        some, x is one input, which sees them all. Also the keys and values with its own.
        """
        query, key, value = self._heads_of(x)
        if before is not None:
            key, value = torch.cat([before[0], key], 2), torch.cat([before[1], value], 2)
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=before is None
        )
        return self._added(x, mixed, None), (key, value)

    def _heads_of(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(query, key, value), each [n, heads, t, width / heads]."""
        n, t, width = x.shape
        heads = self.qkv(self.norm_attention(x)).view(n, t, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        return query, key, value

    def _added(self, x: Tensor, mixed: Tensor, chance: Chance | None) -> Tensor:
        """What attention has mixed, and the feed-forward layer, added to x."""
        mixed = self.projection(mixed.transpose(1, 2).reshape(x.shape))
        x = x + dropout(mixed, self.rate, chance)
        forward = self.down(nn.functional.gelu(self.up(self.norm_forward(x))))
        return x + dropout(forward, self.rate, chance)


def make_network(
    architecture: Architecture, entries: int, generator: torch.Generator | None = None
) -> Network:
    """A network with fresh weights drawn from `generator` (without one: unset, to be loaded)."""
    kind = Transformer if architecture.kind == "transformer" else Recurrent
    # PyTorch's own first weights are drawn and thrown away: to make none, on the "meta" device,
    # imports its compiler, which takes far longer.
    with torch.random.fork_rng(devices=[]):
        network = kind(architecture, entries)
    if generator is not None:
        _initialize(network, generator)
    return network


@torch.no_grad()
def _initialize(network: Network, generator: torch.Generator) -> None:
    """Recurrent: body uniform within 1/sqrt(hidden), embedding normal, output normal with
    deviation 1/sqrt(hidden). Transformer: normal with deviation 0.02. Biases 0, norms 1.
    """
    recurrent = network.architecture.kind != "transformer"
    bound = network.architecture.hidden**-0.5
    for name, weight in network.named_parameters():
        if name.startswith("body."):
            weight.uniform_(-bound, bound, generator=generator)
        elif name.endswith("bias"):
            weight.zero_()
        elif "norm" in name:
            weight.fill_(1.0)
        elif recurrent:
            deviation = 1.0 if name.startswith("embedding.") else bound
            weight.normal_(0.0, deviation, generator=generator)
        else:
            weight.normal_(0.0, 0.02, generator=generator)
