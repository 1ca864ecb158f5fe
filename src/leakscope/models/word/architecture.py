"""The architectures that leakscope can train, and the papers' configurations by name."""

from dataclasses import dataclass
from typing import Literal

from leakscope.records.errors import LeakscopeError

Kind = Literal["lstm", "gru", "transformer"]
KINDS: tuple[Kind, ...] = ("lstm", "gru", "transformer")


@dataclass(frozen=True)
class Architecture:
    """The shape of a network. `embedding` is the input width, `hidden` that of the last layer."""

    kind: Kind
    """The kind of network: lstm, gru or transformer."""
    layers: int
    """The number of layers."""
    embedding: int
    """The width of the input layer."""
    hidden: int
    """The width of the last layer. In a transformer it equals the input's."""
    dropout: float = 0.0
    """The share of values to drop, from the inputs and outputs of a recurrent network or from every
    residual branch of a transformer."""
    heads: int = 1
    """The number of attention heads of a transformer."""
    context: int = 256
    """The longest input of a transformer, in words. Recurrent networks have no limit."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise LeakscopeError(f"The architecture is one of {', '.join(KINDS)}.")
        if min(self.layers, self.embedding, self.hidden, self.heads) < 1:
            raise LeakscopeError("Layers, embedding, hidden and heads must be at least 1.")
        if not 0 <= self.dropout < 1:
            raise LeakscopeError("Dropout must be at least 0 and below 1.")
        if self.kind == "transformer" and (
            self.embedding != self.hidden or self.hidden % self.heads or self.context < 2
        ):
            raise LeakscopeError(
                "A transformer needs embedding = hidden, divisible by its heads, and a context "
                "of at least 2."
            )


@dataclass(frozen=True)
class Preset:
    """A published configuration."""

    architecture: Architecture
    vocabulary: int
    optimizer: Literal["adam", "adamax"]
    learning_rate: float
    batch_size: int
    source: str


PRESETS: dict[str, Preset] = {
    "lstm-2x128": Preset(
        Architecture("lstm", 2, 128, 128), 10_000, "adam", 1e-3, 32, "Inan et al. 2021, 6.1"
    ),
    "gru-160-512": Preset(
        Architecture("gru", 1, 160, 512), 10_000, "adamax", 1e-3, 512, "Inan et al. 2021, 6.2"
    ),
    "lstm-2x550": Preset(
        Architecture("lstm", 2, 550, 550),
        40_000,
        "adam",
        1e-3,
        100,
        "Mireshghallah et al. 2021, A.2",
    ),
    "lstm-2x200": Preset(
        Architecture("lstm", 2, 200, 200),
        10_000,
        "adam",
        1e-3,
        20,
        "Zanella-Béguelin et al. 2020, 4.1 (PTB)",
    ),
    "lstm-160-512": Preset(
        Architecture("lstm", 1, 160, 512, dropout=0.1),
        10_000,
        "adam",
        1e-3,
        100,
        "Zanella-Béguelin et al. 2020, 4.1 (Reddit)",
    ),
    "lstm-2x512": Preset(
        Architecture("lstm", 2, 512, 512, dropout=0.1),
        20_000,
        "adam",
        1e-3,
        100,
        "Zanella-Béguelin et al. 2020, 4.1 (Wikitext-103)",
    ),
    "transformer-4x6x192": Preset(
        Architecture("transformer", 4, 192, 192, dropout=0.1, heads=6),
        10_000,
        "adam",
        1e-3,
        64,
        "Zanella-Béguelin et al. 2020, 4.1 (Reddit)",
    ),
}
"""Where a paper gives no optimizer, rate or batch size, these are ours; docs/models.md says so."""

DEFAULT_PRESET: dict[Kind, str] = {
    "lstm": "lstm-2x128",
    "gru": "gru-160-512",
    "transformer": "transformer-4x6x192",
}
