"""`leakscope verify`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, say_json, tell

if TYPE_CHECKING:
    from leakscope.auditing.integrity.verification import Verified


def verify(asked: Asked) -> None:
    """Whether corpora, models, trainings, runs, hardenings and block lists are, byte by byte, as
    leakscope wrote them, and those in the folders below.

    Exit code 0: everything is intact. 1: something is damaged or missing, or not signed as
    --signers asks. 2: something could not be checked, such as what an earlier version made.

    Digests help against accidents. Against somebody who can write the files, a signature helps.

    Example: leakscope verify corpus model run

    Example: leakscope verify run --sign ~/.ssh/id_ed25519

    Example: leakscope verify run --signers allowed_signers --signer ada@example.org
    """
    from leakscope.commands.verify import verify as work

    found = work(asked["paths"], **asked.options)
    if asked["json"]:
        say_json([{**asdict(each), "path": str(each.path)} for each in found])
    else:
        for each in found:
            _print(each)
    if asked.options.get("sign") is not None and not any(each.signature for each in found):
        tell("Nothing was signed: only what is finished and intact as a whole is.")
    if any(each.is_damaged for each in found):
        raise SystemExit(1)
    if any(each.unchecked for each in found):
        raise SystemExit(2)


def _print(found: "Verified") -> None:
    verdict = "DAMAGED" if found.is_damaged else "not checked" if found.unchecked else "intact"
    notes = [f"{found.checked} files are as they were written" if found.checked else ""]
    notes += [found.unchecked or ""]
    notes += [f"unfinished {found.unfinished}" if found.unfinished else ""]
    notes += [f"signature {found.signature}" if found.signature else ""]
    notes += ["not signed" if found.signed is False and not found.signature else ""]
    said = "; ".join(note for note in notes if note)
    say(f"{verdict}: {found.path} ({found.kind})" + (f": {said}" if said else ""))
    for title in ("changed", "missing", "extra"):
        for name in getattr(found, title):
            say(f"  {title}: {name}")


command = Command(
    "verify",
    verify,
    arguments=(Argument("paths", list[Path], "Directories that leakscope made, or block lists."),),
    own=(Argument("json", bool, "Print what was found as JSON.", default=False),),
)
