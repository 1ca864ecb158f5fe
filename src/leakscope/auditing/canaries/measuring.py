"""Bring a model and the canaries of a manifest together, and say what was measured on what."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.canary_models import CanarySubject, open_subject, served_subject
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.canaries.surprise import lexicon_of
from leakscope.engine.progress import Progress
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.records.canaries.canary_manifest import CanaryManifest


@dataclass(frozen=True)
class ModelAccess:
    """Which model is measured, and how it is opened or asked."""

    loading: LoadingSettings
    model: Path | None = None
    endpoint: Endpoint | None = None
    """One of the two is given."""
    limits: RequestLimits | None = None
    answers: Path | None = None
    """Where the endpoint's answers are kept; by default beside the results, until those are
    written."""
    api_key_env: str | None = None
    """The environment variable that holds the endpoint's key."""


@contextmanager
def measured_subject(
    access: ModelAccess,
    manifest: CanaryManifest,
    answers: Path,
    progress: Progress,
    *,
    other_corpus: bool,
) -> Iterator[CanarySubject]:
    """The model, checked to have been trained on the planted corpus where it says what it was
    trained on. An endpoint's answers are kept in `answers`.
    """
    lexicon = lexicon_of(manifest)
    if access.endpoint is not None:
        limits = access.limits or RequestLimits()
        if limits.key is None:
            limits = replace(limits, key=_key(access))
        with served_subject(access.endpoint, limits, answers, lexicon, progress) as served:
            yield served
        return
    assert access.model is not None  # noqa: S101
    subject = open_subject(access.model, lexicon, access.loading)
    if not other_corpus:
        subject.require_corpus(manifest.corpus_digest)
    yield subject


def _key(access: ModelAccess) -> str | None:
    """The endpoint's key. One that was meant for another server is not sent in clear."""
    if access.endpoint is None or (access.api_key_env is None and access.endpoint.in_clear):
        return None
    return os.environ.get(access.api_key_env or "OPENAI_API_KEY", "").strip() or None


def described(
    subject: CanarySubject, manifest: CanaryManifest, settings: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a `MeasuredModel` record, but for its warnings."""
    return {
        "model": subject.name,
        "model_digest": subject.digest,
        "canaries_digest": manifest.digest,
        "settings": settings,
        "versions": {name: version(name) for name in ("leakscope", "torch", "scipy", "numpy")},
    }
