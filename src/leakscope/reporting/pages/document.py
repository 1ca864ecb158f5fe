"""Self-contained HTML documents: templates, content policy, data for scripts."""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leakscope.reporting.facts import values


def render(template: str, **content: Any) -> str:
    """Fill a template. Everything in `content` is escaped, except the figures' own SVG."""
    style, script = _resource("style.css"), _resource("script.js")
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
    )
    # These two are files of this package, and are closed by the hashes in the policy.
    inline = {"style": Markup(style), "script": Markup(script)}  # noqa: S704
    return _environment().get_template(template).render(**inline, policy=policy, **content)


def embedded(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`, in ASCII and without `<`, `>` and `&`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - nothing is left in it that HTML could read as markup


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("leakscope.reporting.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "thousands": values.thousands,
        "rounded": values.rounded,
        "printable": values.printable,
        "figure": values.figure,
    }
    environment.globals["ABSENT"] = values.ABSENT
    return environment


def _resource(name: str) -> str:
    return (
        files("leakscope.reporting.pages").joinpath("templates", name).read_text(encoding="utf-8")
    )


def _hash(text: str) -> str:
    """The source expression that lets exactly this inline text through."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
