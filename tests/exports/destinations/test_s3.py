"""S3 uploads: files arrive complete or not at all, and only in the intended bucket."""

import asyncio
import hashlib
import os
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from apps.exports.destinations import s3
from apps.exports.destinations.errors import Limits, UploadError, UploadErrorCode
from apps.exports.destinations.s3 import AccessKey, Bucket
from lib.outbound import Rules
from tests.exports.destinations import servers
from tests.exports.destinations.servers import INSIDE, Buckets
from tests.webhooks.receiver import Receiver, receiving

pytestmark = pytest.mark.real_clock

NAME = "carelane_completions_2026-11-19.csv"
SHORT = Limits(connect=1, read=1, total=2)
PART = 5 * 1_048_576


@pytest.fixture(scope="module")
def moto() -> Iterator[Buckets]:
    with servers.buckets() as found:
        yield found


@pytest.fixture
def buckets(moto: Buckets) -> Iterator[Buckets]:
    yield moto
    for name in moto.there():
        with moto.trusting_everybody():
            moto.client().delete_object(Bucket="claims", Key=name)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(300_000))
    return path


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "PART_BYTES", PART)


def _upload(bucket: Bucket, path: Path, name: str = NAME) -> None:
    with path.open("rb") as file:
        s3.upload(bucket, file, name)


def _refused(bucket: Bucket, path: Path) -> UploadErrorCode:
    with pytest.raises(UploadError) as refusal:
        _upload(bucket, path)
    return refusal.value.code


def _at(receiver: Receiver, **given: Any) -> Bucket:
    told = {
        "endpoint_url": receiver.url,
        "name": "claims",
        "key": AccessKey("AK", "secret", "us-east-1"),
        "rules": INSIDE,
    }
    return Bucket(**{**told, "path_style": True, **given})


@pytest.mark.parametrize("folder", ["in", "in/2026 a+b=c@d,e/-x"])
def test_file_arrives_under_its_name_with_no_right_but_to_put(buckets: Buckets, file: Path, folder: str) -> None:
    _upload(buckets.bucket(folder=folder), file)

    assert buckets.there() == {f"{folder}/{NAME}": file.read_bytes()}


def test_file_takes_the_place_of_one_of_its_name(buckets: Buckets, file: Path) -> None:
    _upload(buckets.bucket(), file)
    file.write_bytes(b"")

    _upload(buckets.bucket(), file)

    assert buckets.there() == {f"in/{NAME}": b""}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("size", [PART, PART + 1, 2 * PART, 3 * PART - 1])
def test_large_file_arrives_in_parts(buckets: Buckets, file: Path, size: int) -> None:
    file.write_bytes(os.urandom(size))

    _upload(buckets.bucket(), file)

    assert buckets.there() == {f"in/{NAME}": file.read_bytes()}
    assert buckets.unfinished() == []


def test_bucket_may_stand_in_the_name_of_the_host(receiver: Receiver, file: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("lib.outbound.socket.getaddrinfo", _leading_to("127.0.0.1"))
    url = receiver.url.replace("127.0.0.1", "s3.example.org")

    _upload(_at(receiver, endpoint_url=url, path_style=False, folder="in"), file)

    (got,) = receiver.got
    assert (got.path, got.headers["host"]) == (f"/in/{NAME}", f"claims.s3.example.org:{receiver.port}")
    assert got.headers["x-amz-content-sha256"] == hashlib.sha256(got.body).hexdigest()
    assert got.body == file.read_bytes()


@pytest.mark.parametrize("key", [{"secret": "wrong"}, {"id": "AKNOBODY"}], ids=["another secret", "nobody's key"])
def test_wrong_key_is_told(buckets: Buckets, file: Path, key: dict[str, str]) -> None:
    right = {"id": buckets.key.id, "secret": buckets.key.secret, "region": "us-east-1"}

    code = _refused(buckets.bucket(key=AccessKey(**(right | key))), file)

    assert (code, buckets.there()) == (UploadErrorCode.NOT_AUTHORIZED, {})


def test_folder_that_the_policy_does_not_open_is_told(buckets: Buckets, file: Path) -> None:
    assert _refused(buckets.bucket(folder="out"), file) == UploadErrorCode.NOT_AUTHORIZED


def test_bucket_that_is_not_there_is_told(buckets: Buckets, file: Path) -> None:
    with buckets.trusting_everybody():
        assert _refused(buckets.bucket(name="none"), file) == UploadErrorCode.NO_SUCH_BUCKET


def _error(code: str, status: int) -> Any:
    async def answer(request: web.Request) -> web.StreamResponse:
        text = f"<?xml version='1.0'?>\n<Error><Code>{code}</Code><Message>of the server's own</Message></Error>"
        return web.Response(status=status, text=text, content_type="application/xml")

    return answer


@pytest.mark.parametrize(
    ("status", "word", "code", "retryable"),
    [
        (403, "AccessDenied", "not_authorized", False),
        (400, "AuthorizationHeaderMalformed", "not_authorized", False),
        (403, "", "not_authorized", False),
        (401, "", "not_authorized", False),
        (404, "NoSuchBucket", "no_such_bucket", False),
        (400, "BadDigest", "damaged", True),
        (400, "XAmzContentSHA256Mismatch", "damaged", True),
        (507, "", "no_space", True),
        (507, "XMinioStorageFull", "no_space", True),
        (503, "SlowDown", "busy", True),
        (500, "InternalError", "busy", True),
        (502, "", "busy", True),
        (429, "", "busy", True),
        (400, "RequestTimeout", "timed_out", True),
        (408, "", "timed_out", True),
        (301, "PermanentRedirect", "redirected", False),
        (307, "", "redirected", False),
        (400, "SomethingNew", "refused", False),
        (404, "", "refused", False),
        (200, "InternalError", "busy", True),
    ],
)
def test_answers_are_told_in_words_of_ours(
    receiver: Receiver, file: Path, status: int, word: str, code: str, *, retryable: bool
) -> None:
    receiver.answers[f"/claims/{NAME}"] = _error(word, status) if word else status

    with pytest.raises(UploadError) as refusal:
        _upload(_at(receiver), file)

    assert (str(refusal.value), refusal.value.retryable) == (code, retryable)


def test_redirects_are_not_followed(receiver: Receiver, file: Path) -> None:
    async def away(request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": f"{receiver.url}/elsewhere"})

    receiver.answers[f"/claims/{NAME}"] = away

    assert _refused(_at(receiver), file) == UploadErrorCode.REDIRECTED
    assert receiver.at("/elsewhere") == []


@pytest.mark.usefixtures("small_parts")
def test_upload_that_fails_midway_is_aborted_and_retry_arrives(buckets: Buckets, file: Path) -> None:
    file.write_bytes(os.urandom(2 * PART))
    with servers.cutting_off(buckets.url, after=PART + 200_000) as port:
        code = _refused(buckets.bucket(endpoint_url=f"http://127.0.0.1:{port}"), file)
        half = buckets.there()

    _upload(buckets.bucket(), file)

    assert (code, half) == (UploadErrorCode.UNREACHABLE, {})
    assert buckets.there() == {f"in/{NAME}": file.read_bytes()}


@pytest.mark.parametrize("whole", ["", "<Error><Code>InternalError</Code></Error>", "   "])
def test_upload_that_fails_on_completion_fails_despite_200(
    receiver: Receiver, file: Path, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    monkeypatch.setattr(s3, "PART_BYTES", 200_000)
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(f"{request.method} {request.query_string}")
        if "uploads" in request.query:
            return web.Response(text="<R><UploadId>a&amp;b</UploadId></R>", content_type="application/xml")
        return web.Response(text=whole if request.method == "POST" else "", headers={"ETag": '"<1>"'})

    receiver.answers[f"/claims/{NAME}"] = answer

    assert _refused(_at(receiver), file) == UploadErrorCode.BUSY
    assert asked == [
        "POST uploads=",
        "PUT partNumber=1&uploadId=a%26b",
        "PUT partNumber=2&uploadId=a%26b",
        "POST uploadId=a%26b",
        "DELETE uploadId=a%26b",
    ]
    listed = [one.body for one in receiver.got if b"CompleteMultipartUpload" in one.body]
    assert listed == [
        b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>&quot;&lt;1&gt;&quot;</ETag></Part>"
        b"<Part><PartNumber>2</PartNumber><ETag>&quot;&lt;1&gt;&quot;</ETag></Part></CompleteMultipartUpload>"
    ]


def test_server_that_begins_no_upload_is_told(receiver: Receiver, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "PART_BYTES", 200_000)

    assert _refused(_at(receiver), file) == UploadErrorCode.REFUSED


def test_server_that_hangs_is_given_up_in_time(receiver: Receiver, file: Path) -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    receiver.answers[f"/claims/{NAME}"] = hang

    assert _refused(_at(receiver, limits=SHORT), file) == UploadErrorCode.TIMED_OUT


def test_server_that_drips_is_given_up_in_time(receiver: Receiver, file: Path) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(100):
            await answer.write(b" ")
            await asyncio.sleep(0.2)
        return answer

    receiver.answers[f"/claims/{NAME}"] = drip
    begun = time.monotonic()

    assert _refused(_at(receiver, limits=SHORT), file) == UploadErrorCode.TIMED_OUT
    assert time.monotonic() - begun < 10


def test_no_more_of_an_answer_is_read_than_tells_what_came(receiver: Receiver, file: Path) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(status=500)
        await answer.prepare(request)
        while True:
            await answer.write(bytes(1_000_000))

    receiver.answers[f"/claims/{NAME}"] = endless

    assert _refused(_at(receiver), file) == UploadErrorCode.BUSY


def test_port_where_nobody_listens_is_told(receiver: Receiver, file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    assert _refused(_at(receiver, endpoint_url=url), file) == UploadErrorCode.UNREACHABLE


def test_certificate_that_nobody_vouches_for_is_told(receiver: Receiver, file: Path) -> None:
    url = receiver.url.replace("http://", "https://")

    assert _refused(_at(receiver, endpoint_url=url), file) == UploadErrorCode.TLS_FAILED
    assert ssl.create_default_context().check_hostname


def _leading_to(address: str) -> Any:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return lambda host, port, **given: [(family, socket.SOCK_STREAM, 6, "", (address, port))]


@pytest.mark.parametrize("address", ["169.254.169.254", "10.1.2.3", "127.0.0.1", "::1"])
def test_hosts_resolving_inside_are_refused_before_sending(
    receiver: Receiver, file: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("lib.outbound.socket.getaddrinfo", _leading_to(address))
    networks = INSIDE.networks if address == "169.254.169.254" else ()

    code = _refused(
        _at(receiver, endpoint_url="https://s3.example.org", rules=Rules(networks=networks), path_style=False), file
    )

    assert (code, receiver.got) == (UploadErrorCode.ADDRESS_REFUSED, [])


@pytest.mark.parametrize("url", ["http://s3.example.org", "https://127.0.0.1", "https://s3.example.org:22", "ftp://x"])
def test_addresses_of_another_form_are_refused(receiver: Receiver, file: Path, url: str) -> None:
    assert _refused(_at(receiver, endpoint_url=url, rules=Rules()), file) == UploadErrorCode.ADDRESS_REFUSED


def test_name_that_does_not_resolve_is_told(receiver: Receiver, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: Any, **more: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr("lib.outbound.socket.getaddrinfo", unknown)

    assert _refused(_at(receiver, endpoint_url="https://nowhere.example.org"), file) == UploadErrorCode.NAME_UNKNOWN


def test_name_that_is_not_allowed_is_an_error(receiver: Receiver, file: Path) -> None:
    with pytest.raises(ValueError, match="name of a file"):
        _upload(_at(receiver), file, "../x")


def test_file_that_is_larger_than_s3_takes_is_an_error(
    receiver: Receiver, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "MAX_BYTES", 299_999)

    with pytest.raises(ValueError, match="size of a file"):
        _upload(_at(receiver), file)


def test_object_is_taken_away_where_that_is_allowed(buckets: Buckets, file: Path) -> None:
    _upload(buckets.bucket(), file)

    with pytest.raises(UploadError) as refusal:
        s3.remove(buckets.bucket(), NAME)
    with buckets.trusting_everybody():
        s3.remove(buckets.bucket(), NAME)

    assert (refusal.value.code, buckets.there()) == (UploadErrorCode.NOT_AUTHORIZED, {})
