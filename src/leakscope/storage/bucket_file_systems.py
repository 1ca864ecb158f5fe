"""Amazon's and Google's storage, and servers that speak as they do: credentials as the libraries
find them, and no connection but to the server itself.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from leakscope.storage.remote_address import endpoint_of
from leakscope.storage.store_errors import no_google_credentials

BUCKETS = ("s3", "gs", "gcs")
"""Schemes whose first part is a bucket that must be there."""


def s3() -> Any:
    """Amazon's S3, or the server of AWS_ENDPOINT_URL. Credentials are found by the library."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    server = endpoint_of("s3")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    # Without being asked to, the library would look for credentials at an address of its own, even
    # if it has some. AWS_EC2_METADATA_DISABLED=false lets it.
    wanted = {"AWS_EC2_METADATA_DISABLED": "true"}
    if server is not None:
        # Few other servers understand Amazon's checksums. Our own digests are checked anyway.
        wanted["AWS_REQUEST_CHECKSUM_CALCULATION"] = "WHEN_REQUIRED"
        wanted["AWS_RESPONSE_CHECKSUM_VALIDATION"] = "WHEN_REQUIRED"
    with _unless_set(wanted):
        return S3FileSystem(
            endpoint_override=server,
            region=region or (None if server is None else "us-east-1"),
            connect_timeout=10,
            request_timeout=20,
            background_writes=False,
            allow_delayed_open=True,  # small files go in one request
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=3),
        )


@contextmanager
def _unless_set(wanted: dict[str, str]) -> Iterator[None]:
    """Variables that the library reads when a file system is made, unless the user has set them."""
    new = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


def google() -> Any:
    """Google's storage, or an emulator of it. Credentials are found by the library."""
    from pyarrow.fs import GcsFileSystem

    patience = timedelta(seconds=30)
    server = endpoint_of("gs")
    if server is not None:  # emulators know no users
        scheme, _, host = server.rpartition("://")
        return GcsFileSystem(
            anonymous=True,
            scheme=scheme or "http",
            endpoint_override=host.rstrip("/"),
            retry_time_limit=patience,
        )
    # Without any, the library would ask an address of its own. NO_GCE_CHECK=false lets it.
    if not _has_google_credentials() and os.environ.get("NO_GCE_CHECK", "").lower() != "false":
        raise no_google_credentials()
    return GcsFileSystem(retry_time_limit=patience)


def _has_google_credentials() -> bool:
    named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    usual = Path("~/.config/gcloud/application_default_credentials.json").expanduser()
    return bool(named) or usual.exists()
