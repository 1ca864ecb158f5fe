"""What remote storage complains of, in one sentence each, without its own words: they may hold
keys.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_address import RemoteAddress, cache_root

_CODE = re.compile(r"AWS Error ([A-Za-z_0-9]+)")
_STATUS = re.compile(r"HTTP status (\d{3})")
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|MISSING_AUTHENTICATION_TOKEN|"
    r"EXPIRED_TOKEN|INVALID_CLIENT_TOKEN_ID|UNRECOGNIZED_CLIENT|HTTP status 40[013]|AccessDenied|"
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|PERMISSION_DENIED|UNAUTHENTICATED|"
    r"Forbidden|no credentials|NoCredentials",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"NETWORK_CONNECTION|curlCode|timed? ?out|could not connect|connection (refused|reset)|"
    r"REQUEST_TIMEOUT|SERVICE_UNAVAILABLE|SLOW_DOWN|HTTP status 50\d|UNAVAILABLE|"
    r"name or service not known|could not resolve",
    re.IGNORECASE,
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist", re.IGNORECASE)


@contextmanager
def told_of(address: RemoteAddress, name: str = "") -> Iterator[None]:
    """Turn what the libraries raise about a file at a URL into an error of ours."""
    url = f"{address.url}/{name}" if name else address.url
    try:
        yield
    except LeakscopeError:
        raise
    except FileNotFoundError:
        raise no_such(url) from None
    except PermissionError:
        raise _denied(url) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise _as_sentence(url, error) from None


def no_such(url: str) -> LeakscopeError:
    """The error for what is not there."""
    return LeakscopeError(f"There is no {url}; check the URL.")


def no_bucket(address: RemoteAddress) -> LeakscopeError:
    """The error for a bucket that is not there."""
    bucket = f"{address.scheme}://{address.place.partition('/')[0]}"
    return LeakscopeError(
        f"There is no bucket {bucket}; check the URL and the endpoint, or make the bucket first."
    )


def unknown_scheme(scheme: str, why: str = "") -> LeakscopeError:
    """The error for a kind of storage that nobody here can read."""
    return LeakscopeError(
        f"URLs of {scheme}:// cannot be opened{why}; give s3://, gs://, a path, or a scheme that "
        "fsspec knows."
    )


def no_google_credentials() -> LeakscopeError:
    """The error for Google's storage without a key."""
    return LeakscopeError(
        "There are no credentials for gs://; run gcloud auth application-default login, name a key "
        "file by GOOGLE_APPLICATION_CREDENTIALS or, on a machine of Google's, set "
        "NO_GCE_CHECK=false to act as that machine."
    )


def full_disk() -> LeakscopeError:
    """The error for a cache that has no room."""
    return LeakscopeError(
        f"No space is left in {cache_root()}, where remote files are kept; free some, or name "
        "another directory by LEAKSCOPE_CACHE."
    )


def _denied(url: str) -> LeakscopeError:
    return LeakscopeError(
        f"Access to {url} is denied; check the credentials in the environment or in the usual "
        "files, and what they allow."
    )


def _as_sentence(url: str, error: Exception) -> LeakscopeError:
    said = str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full_disk()
    if _NO_BUCKET.search(said):
        return no_bucket(RemoteAddress(url))
    if _DENIED.search(said):
        return _denied(url)
    if _UNREACHABLE.search(said):
        return LeakscopeError(
            f"The server of {url} cannot be reached or broke off; check the network and the "
            "endpoint, then give the same command again: what is done is kept."
        )
    code, status = _CODE.search(said), _STATUS.search(said)
    details = [found[1] for found in (code, status) if found is not None]
    what = ", ".join(details) or type(error).__name__
    return LeakscopeError(f"{url} cannot be read or written ({what}); mend it and try again.")
