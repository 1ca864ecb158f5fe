"""URLs on the command line: taken whole, before anything makes a path of them."""

from cyclopts import App, ArgumentCollection

from leakscope.commands.options import OR_PATHS, mentions_path
from leakscope.storage.remote_address import placed


def place_urls(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Put the paths that stand for URLs in their place."""
    from attrs import evolve

    for argument in arguments:
        name = argument.field_info.name
        if name == "config" or not (mentions_path(argument.hint) or name in OR_PATHS):
            continue
        for at, token in enumerate(argument.tokens):
            if token.value and "://" in token.value:
                argument.tokens[at] = evolve(token, value=str(placed(token.value)))
