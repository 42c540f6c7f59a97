"""Signatures of requests to S3: AWS Signature Version 4, with the digest of the body always in it.

Source: "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)", Amazon S3 API Reference.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from urllib.parse import quote

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_UNRESERVED: Final = "-_.~"


@dataclass(frozen=True, slots=True)
class Key:
    """An access key, and the region it is used in."""

    access_key_id: str
    secret: str = field(repr=False)
    region: str


def path_of(text: str) -> str:
    """Write a path, or the key of an object, as it is signed and sent."""
    return quote(text, safe="/" + _UNRESERVED)


def query_of(parameters: Mapping[str, str]) -> str:
    """Write a query as it is signed and sent: in the order of its names."""
    named = sorted(
        (quote(name, safe=_UNRESERVED), quote(value, safe=_UNRESERVED)) for name, value in parameters.items()
    )
    return "&".join(f"{name}={value}" for name, value in named)


def signed(
    key: Key, method: str, host: str, path: str, query: str, headers: Mapping[str, str], *, sha256: str, at: datetime
) -> dict[str, str]:
    """Give the headers of a request, those that make it authentic among them.

    `host` with the port where it is no standard one; `path` and `query` from the functions above; `sha256` is the hex
    digest of the body; `at` is aware, and in UTC.  Servers accept it for a quarter of an hour.
    """
    moment = at.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{key.region}/s3/aws4_request"
    sent = {**headers, "Host": host, "x-amz-content-sha256": sha256, "x-amz-date": moment}
    lines = sorted((name.lower(), " ".join(value.split())) for name, value in sent.items())
    names = ";".join(name for name, _ in lines)
    canonical = "\n".join(
        [method, path, query, *(f"{name}:{value}" for name, value in lines), "", names, sha256],
    )
    to_sign = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signing_key = f"AWS4{key.secret}".encode()
    for part in scope.split("/"):
        signing_key = _hmac(signing_key, part)
    signature = _hmac(signing_key, to_sign).hex()
    credential = f"{key.access_key_id}/{scope}"
    sent["Authorization"] = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return sent


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), hashlib.sha256)
