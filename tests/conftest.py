"""What all tests share: small corpora and models made on the spot."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.store import Corpus

# Virtual machines may announce AMX and not let programs use it: half precision would end in SIGILL.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

settings.register_profile(
    "leakscope",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("leakscope")


@pytest.fixture
def make_corpus(tmp_path: Path) -> Callable[..., Corpus]:
    """Builds corpora from (user, text) pairs, all of it training data unless told otherwise."""
    made = 0

    def make(rows: Sequence[tuple[str, str]], **changes: object) -> Corpus:
        nonlocal made
        made += 1
        chosen = BuildSettings(**({"validation": 0.0} | changes))  # type: ignore[arg-type]
        stream = [Row(user, text) for user, text in rows]
        return build_rows(stream, tmp_path / f"corpus-{made}", settings=chosen)

    return make
