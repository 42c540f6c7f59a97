"""Signatures are what botocore makes of the same request."""

import datetime as dt

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from apps.exports.destinations import sigv4

AT = dt.datetime(2026, 11, 20, 15, 0, tzinfo=dt.UTC)
_PLAIN = st.text("abzAZ09 ._=+@,-~", min_size=1, max_size=20).filter(lambda text: text.strip(".") != "")


@given(
    names=st.lists(_PLAIN, min_size=1, max_size=4),
    parameters=st.dictionaries(st.sampled_from(["uploads", "uploadId", "partNumber"]), _PLAIN | st.just("")),
    method=st.sampled_from(["PUT", "POST", "DELETE"]),
    secret=st.text("abcXYZ+/=019", min_size=20, max_size=40),
)
def test_signature_is_that_of_botocore(names: list[str], parameters: dict[str, str], method: str, secret: str) -> None:
    path, query = sigv4.path_of("/claims/" + "/".join(names)), sigv4.query_of(parameters)
    key = sigv4.Key("AKEXAMPLE", secret, "eu-central-1")
    digest = "ab" * 32

    sent = sigv4.signed(key, method, "s3.example.org:9000", path, query, {}, sha256=digest, at=AT)

    url = f"https://s3.example.org:9000{path}" + (f"?{query}" if query else "")
    request = AWSRequest(method, url, headers={"x-amz-content-sha256": digest, "x-amz-date": "20261120T150000Z"})
    theirs = S3SigV4Auth(Credentials("AKEXAMPLE", secret), "s3", "eu-central-1")
    request.context["timestamp"] = "20261120T150000Z"
    text = theirs.string_to_sign(request, theirs.canonical_request(request))
    assert sent["Authorization"].rpartition("Signature=")[2] == theirs.signature(text, request)
    assert sent["Host"] == "s3.example.org:9000"


def test_secret_is_not_shown() -> None:
    assert "hunter2" not in repr(sigv4.Key("AKEXAMPLE", "hunter2", "us-east-1"))
