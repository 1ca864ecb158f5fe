"""Import what the commands import when they run, once, so that every fork has it."""

import pkgutil
import sys
import tempfile
import threading
from importlib import import_module
from pathlib import Path


def warm(*, causal: bool) -> None:
    """Import all of leakscope, what it imports late, and the libraries of Hugging Face models."""
    import leakscope

    for module in pkgutil.walk_packages(leakscope.__path__, "leakscope."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in ("dp_accounting", *(("transformers", "peft", "gguf") if causal else ())):
        import_module(name)
    import torch

    torch.set_num_threads(1)
    _check_threads()


def warm_kernels() -> None:
    """Use everything once in this process: to load compiled kernels takes longer than most work
    that is tried. It leaves no threads of Python behind.
    """
    import leakscope
    from trials.material import Material

    with tempfile.TemporaryDirectory(prefix="trial-warm-") as name:
        made = Material(Path(name))
        made.inside()
        corpus, model, run = made.root / "corpus", made.root / "model", made.root / "run"
        for place in (model, made.root / "private"):
            leakscope.probe(place, "hello")
        leakscope.suggest(run)
        leakscope.compare(run)
        leakscope.corpus.info(corpus)
    _check_threads()


def _check_threads() -> None:
    others = [each.name for each in threading.enumerate() if each is not threading.main_thread()]
    if others:  # a fork would take their locks along, held for ever
        sys.exit(f"trials cannot fork beside the threads {', '.join(others)}")
