"""`leakscope completion`."""

from typing import Literal

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say


def completion(asked: Asked) -> None:
    """Print the script that lets a shell complete commands and options by Tab.

    Example: leakscope completion bash > ~/.local/share/bash-completion/completions/leakscope
    """
    from leakscope.cli.app import make_app

    say(make_app().generate_completion(shell=asked["shell"]))


command = Command(
    "completion",
    completion,
    arguments=(Argument("shell", Literal["bash", "zsh", "fish", "powershell"], "Which shell."),),
)
