"""What the command line says of arguments that it cannot use: one sentence each."""

from cyclopts import (
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from leakscope.commands.options import described


def sentence(error: CycloptsError) -> str:
    """What is wrong, in one sentence, with the option or command that was probably meant."""
    command = " ".join(("leakscope", *(error.command_chain or ())))
    told = " ".join(str(error).split())
    if isinstance(error, CoercionError) and error.argument is not None:
        given = "" if error.token is None else f", not '{error.token.value}'"
        told = f"{_name(error.argument)} is {described(error.argument.hint)}{given}."
    elif isinstance(error, MissingArgumentError) and error.argument is not None:
        alone = any(token.keyword for token in error.argument.tokens) or error.keyword
        name = _name(error.argument)
        told = f"{name} needs a value" if alone else f"{command} needs {name}"
        told = f"{told}; see {command} --help."
    elif isinstance(error, UnknownOptionError):
        value = error.token.keyword or error.token.value
        known = [name for each in error.argument_collection for name in each.names if each.parse]
        told = f"There is no option {value}; {_meant(value, known, command)}"
    elif isinstance(error, UnknownCommandError) and error.unused_tokens and error.app is not None:
        value = error.unused_tokens[0]
        known = [name for name in error.app if not name.startswith("-")]
        told = f"There is no command {value}; {_meant(value, known, command)}"
    elif isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        extra = " ".join(error.unused_tokens)
        told = f"{command} takes no further argument such as '{extra}'; see {command} --help."
    return told if told.endswith((".", "?")) else f"{told}."


def _meant(value: str, known: list[str], command: str) -> str:
    import difflib

    near = difflib.get_close_matches(value, known, 1)
    return f"did you mean {near[0]}?" if near else f"see {command} --help."


def _name(argument: Argument) -> str:
    options = [name for name in argument.names if name.startswith("--")]
    return options[0] if options else argument.names[0]
