"""Tables on narrow terminals."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_whole(table: "RenderableType") -> None:
    """Print a table as wide as it needs: one that is cut to fit would show wrong numbers, so
    rather let a narrow terminal wrap its lines.
    """
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    need = Measurement.get(console, console.options.update(max_width=400), table).maximum
    Console(width=max(console.width, need)).print(table)
