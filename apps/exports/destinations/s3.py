"""Upload to buckets that speak the S3 protocol.

Files up to 64 MiB are sent in one request, larger ones as a multipart upload, which S3 turns into an object when the
last request arrives: an interrupted upload never shows up as a shorter object.  botocore's signer signs every request
(AWS Signature Version 4) together with the SHA-256 of its body, so that a server that received other bytes refuses
them; each body is therefore read twice from the disk.

The requests go through aiohttp and not through boto3, because `lib.outbound` can check each of aiohttp's connections at
the socket.  Nothing is read from the environment or from AWS configuration files: address and credentials come from the
destination alone.  A failed multipart upload is aborted; if the process dies first, its parts stay until a lifecycle
rule of the bucket deletes them.
"""

import asyncio
import html
import io
import os
import re
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final
from urllib.parse import quote, urlencode

import aiohttp
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from yarl import URL

from apps.exports.destinations.errors import Limits, UploadError, UploadErrorCode
from apps.exports.destinations.names import check_name
from lib.outbound import BadUrl, Blocked, Resolver, Rules, causes, check_form, socket_factory

PART_BYTES: Final = 64 * 1_048_576  # S3 accepts 10,000 parts of 5 MiB to 5 GiB
MAX_BYTES: Final = 10_000 * PART_BYTES
_CHUNK_BYTES: Final = 262_144  # held in memory at once
_MAX_ANSWER_BYTES: Final = 65_536  # read of an answer
_ABORT_SECONDS: Final = 10.0
_UNRESERVED: Final = "-_.~"

_ERROR_CODE: Final = re.compile(rb"<Error\b.*?<Code>([A-Za-z0-9.]{1,80})</Code>", re.DOTALL)
_UPLOAD_ID: Final = re.compile(rb"<UploadId>([^<]{1,2000})</UploadId>")
_CODES: Final = {
    "NoSuchBucket": UploadErrorCode.NO_SUCH_BUCKET,
    "InvalidBucketName": UploadErrorCode.NO_SUCH_BUCKET,
    "AccessDenied": UploadErrorCode.NOT_AUTHORIZED,
    "AuthorizationHeaderMalformed": UploadErrorCode.NOT_AUTHORIZED,  # another region
    "InvalidAccessKeyId": UploadErrorCode.NOT_AUTHORIZED,
    "SignatureDoesNotMatch": UploadErrorCode.NOT_AUTHORIZED,
    "BadDigest": UploadErrorCode.DAMAGED,
    "IncompleteBody": UploadErrorCode.DAMAGED,
    "XAmzContentSHA256Mismatch": UploadErrorCode.DAMAGED,
    "QuotaExceeded": UploadErrorCode.NO_SPACE,
    "XMinioStorageFull": UploadErrorCode.NO_SPACE,
    "RequestTimeout": UploadErrorCode.TIMED_OUT,
    "SlowDown": UploadErrorCode.BUSY,
    "InternalError": UploadErrorCode.BUSY,
    "PermanentRedirect": UploadErrorCode.REDIRECTED,
    "TemporaryRedirect": UploadErrorCode.REDIRECTED,
}
_STATUSES: Final = {
    401: UploadErrorCode.NOT_AUTHORIZED,
    403: UploadErrorCode.NOT_AUTHORIZED,
    408: UploadErrorCode.TIMED_OUT,
    429: UploadErrorCode.BUSY,
    507: UploadErrorCode.NO_SPACE,
}


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key, and the region in which it is used."""

    id: str
    secret: str = field(repr=False)
    region: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and its credentials.  All object keys begin with `folder`, which has no slash at its end."""

    endpoint_url: str
    name: str
    key: AccessKey
    folder: str = ""
    path_style: bool = False
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)


def upload(bucket: Bucket, file: BinaryIO, name: str) -> None:
    """Upload a file that can be read from any position; replaces an object of that name.

    Raises:
        UploadError: no object was created or replaced.
        ValueError: the name is not allowed, or the file is larger than 640 GB.
    """
    check_name(name)
    size = file.seek(0, os.SEEK_END)
    if size > MAX_BYTES:
        raise ValueError("size of a file")
    asyncio.run(_within_limits(bucket, _Client(bucket).upload(file, size, name)))


def remove(bucket: Bucket, name: str) -> None:
    """Delete an object.

    Raises:
        UploadError: it was not deleted.
        ValueError: the name is not allowed.
    """
    check_name(name)
    asyncio.run(_within_limits(bucket, _Client(bucket).remove(name)))


async def _within_limits(bucket: Bucket, work: Any) -> None:
    try:
        async with asyncio.timeout(bucket.limits.total):
            await work
    except TimeoutError:
        raise UploadError(UploadErrorCode.TIMED_OUT) from None
    except (aiohttp.ClientError, OSError, ValueError) as failure:
        raise UploadError(_code_of(failure)) from None  # the library's texts contain addresses


class _Client:
    """Sends signed requests to one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        try:
            parts = check_form(bucket.endpoint_url, bucket.rules)
        except (BadUrl, Blocked):
            raise UploadError(UploadErrorCode.ADDRESS_REFUSED) from None
        host, path = parts.netloc, f"/{bucket.name}"
        if not bucket.path_style:
            host, path = f"{bucket.name}.{host}", ""
        self._root = f"{parts.scheme}://{host}"
        self._folder = f"{path}/{bucket.folder}/" if bucket.folder else f"{path}/"
        credentials = Credentials(bucket.key.id, bucket.key.secret)
        self._signer = S3SigV4Auth(credentials, "s3", bucket.key.region)

    async def upload(self, file: BinaryIO, size: int, name: str) -> None:
        async with self._session() as session:
            if size <= PART_BYTES:
                await self._send(session, "PUT", name, body=_Section(file, 0, size))
            else:
                await self._upload_parts(session, file, size, name)

    async def remove(self, name: str) -> None:
        async with self._session() as session:
            await self._send(session, "DELETE", name)

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        rules, limits = self._bucket.rules, self._bucket.limits
        resolver = Resolver(rules)
        connector = aiohttp.TCPConnector(
            resolver=resolver, socket_factory=socket_factory(rules), ssl=ssl.create_default_context()
        )
        try:
            async with aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect, sock_read=limits.read),
            ) as session:
                yield session
        finally:
            await resolver.close()

    async def _upload_parts(self, session: aiohttp.ClientSession, file: BinaryIO, size: int, name: str) -> None:
        _, answer = await self._send(session, "POST", name, {"uploads": ""})
        upload_id = _UPLOAD_ID.search(answer)
        if upload_id is None:
            raise UploadError(UploadErrorCode.REFUSED)
        upload = {"uploadId": html.unescape(upload_id[1].decode())}
        try:
            tags = []
            for number, start in enumerate(range(0, size, PART_BYTES), 1):
                part = {"partNumber": str(number), **upload}
                body = _Section(file, start, min(PART_BYTES, size - start))
                headers, _ = await self._send(session, "PUT", name, part, body)
                tags.append((number, html.escape(headers.get("ETag", ""))))
            _, answer = await self._send(session, "POST", name, upload, io.BytesIO(_part_list(tags)))
            # S3 may send status 200 before it knows whether the upload succeeds.
            if b"<CompleteMultipartUploadResult" not in answer:
                raise UploadError(UploadErrorCode.BUSY)
        except BaseException:
            with suppress(UploadError, TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_ABORT_SECONDS):
                    await self._send(session, "DELETE", name, upload)
            raise

    async def _send(
        self,
        session: aiohttp.ClientSession,
        method: str,
        name: str,
        parameters: Mapping[str, str] | None = None,
        body: "io.BytesIO | _Section | None" = None,
    ) -> tuple[Mapping[str, str], bytes]:
        """Send one request; return the headers and the beginning of the answer.

        Raises:
            UploadError: the status is not 200 to 299, or the answer holds an error in spite of it.
        """
        body = body or io.BytesIO()
        length = body.seek(0, os.SEEK_END)
        body.seek(0)
        path = quote(self._folder + name, safe="/" + _UNRESERVED)
        query = urlencode(sorted((parameters or {}).items()), quote_via=quote, safe=_UNRESERVED)
        url = f"{self._root}{path}?{query}" if query else f"{self._root}{path}"
        request = AWSRequest(method, url, headers={"Content-Length": str(length)}, data=body)
        self._signer.add_auth(request)  # reads the body for its SHA-256, and the clock
        async with session.request(
            method,
            URL(url, encoded=True),
            data=_chunks(body),
            headers=dict(request.headers.items()),
            allow_redirects=False,
        ) as response:
            answer = await _beginning(response)
            error = _ERROR_CODE.search(answer)
            if not 200 <= response.status < 300 or error:
                raise UploadError(_meaning(response.status, error[1].decode() if error else ""))
            return response.headers, answer


def _part_list(tags: Iterable[tuple[int, str]]) -> bytes:
    parts = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>" for number, tag in tags)
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()


def _meaning(status: int, code: str) -> UploadErrorCode:
    if code in _CODES:
        return _CODES[code]
    if status in _STATUSES:
        return _STATUSES[status]
    if 300 <= status < 400:
        return UploadErrorCode.REDIRECTED
    return UploadErrorCode.BUSY if status >= 500 else UploadErrorCode.REFUSED


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    answer = bytearray()
    async for chunk in response.content.iter_chunked(_MAX_ANSWER_BYTES):
        answer += chunk
        if len(answer) >= _MAX_ANSWER_BYTES:
            response.close()
            break
    return bytes(answer[:_MAX_ANSWER_BYTES])


class _Section(io.RawIOBase):
    """Part of a file, readable as a file of its own."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        super().__init__()
        self._file, self._start, self._length, self._position = file, start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        remaining = self._length - self._position
        self._file.seek(self._start + self._position)
        chunk = self._file.read(remaining if size < 0 else min(size, remaining))
        self._position += len(chunk)
        return chunk


async def _chunks(body: "io.BytesIO | _Section") -> AsyncIterator[bytes]:
    # Reads the disk in the event loop's own thread, where nothing else runs.
    while chunk := body.read(_CHUNK_BYTES):
        yield chunk


def _code_of(failure: BaseException) -> UploadErrorCode:
    chain = list(causes(failure))
    if any(isinstance(cause, Blocked) for cause in chain):
        return UploadErrorCode.ADDRESS_REFUSED
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return UploadErrorCode.NAME_UNKNOWN
    if isinstance(failure, aiohttp.ClientSSLError) or any(isinstance(cause, ssl.SSLError) for cause in chain):
        return UploadErrorCode.TLS_FAILED
    return UploadErrorCode.UNREACHABLE
