"""Files put into a bucket that speaks S3: whole, or not at all, as S3 has it.

Up to 64 MiB go in one request, more in parts that become an object when the last one is there.  Each body is read
twice from the disk, once for its digest, which the signature holds: a server that got something else refuses it.
"""

import asyncio
import hashlib
import html
import os
import re
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import aiohttp
from yarl import URL

from apps.exports.destinations.names import check_name
from apps.exports.destinations.outcome import Limits, PutCode, PutRefused
from apps.exports.destinations.sigv4 import Key, path_of, query_of, signed
from lib.outbound import BadUrl, Blocked, Resolver, Rules, causes, check_form, socket_factory

PART_BYTES: Final = 64 * 1_048_576  # S3 takes 10,000 parts of 5 MiB to 5 GiB
MOST_BYTES: Final = 10_000 * PART_BYTES
_PIECE: Final = 262_144  # bytes that are held at once
_MOST_READ: Final = 65_536  # bytes of an answer
_ABORT_SECONDS: Final = 10.0

_CODE: Final = re.compile(rb"<Error\b.*?<Code>([A-Za-z0-9.]{1,80})</Code>", re.DOTALL)
_UPLOAD: Final = re.compile(rb"<UploadId>([^<]{1,2000})</UploadId>")
_CODES: Final = {
    "NoSuchBucket": PutCode.NO_SUCH_BUCKET,
    "InvalidBucketName": PutCode.NO_SUCH_BUCKET,
    "AccessDenied": PutCode.NOT_AUTHORIZED,
    "AuthorizationHeaderMalformed": PutCode.NOT_AUTHORIZED,  # another region
    "InvalidAccessKeyId": PutCode.NOT_AUTHORIZED,
    "SignatureDoesNotMatch": PutCode.NOT_AUTHORIZED,
    "BadDigest": PutCode.DAMAGED,
    "IncompleteBody": PutCode.DAMAGED,
    "XAmzContentSHA256Mismatch": PutCode.DAMAGED,
    "QuotaExceeded": PutCode.NO_SPACE,
    "XMinioStorageFull": PutCode.NO_SPACE,
    "RequestTimeout": PutCode.TIMED_OUT,
    "SlowDown": PutCode.BUSY,
    "InternalError": PutCode.BUSY,
    "PermanentRedirect": PutCode.REDIRECTED,
    "TemporaryRedirect": PutCode.REDIRECTED,
}
_STATUSES: Final = {
    401: PutCode.NOT_AUTHORIZED,
    403: PutCode.NOT_AUTHORIZED,
    408: PutCode.TIMED_OUT,
    429: PutCode.BUSY,
    507: PutCode.NO_SPACE,
}


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket, and whom it knows us as.  `folder` is what all keys begin with, without a slash at its end."""

    endpoint_url: str
    name: str
    key: Key
    folder: str = ""
    path_style: bool = False
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)


def put(bucket: Bucket, path: Path, name: str) -> None:
    """Put a file into a bucket, in place of an object of that name.

    Raises:
        PutRefused: it did not work.  Parts may be left in the bucket, which its own rules take away; no object is.
        FileNotFoundError: there is no such file.
        ValueError: the name is none, or the file has more than 640 GB.
    """
    check_name(name)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise ValueError("size of a file")
        asyncio.run(_within_limits(bucket, _Sending(bucket).put(file, size, name)))


def remove(bucket: Bucket, name: str) -> None:
    """Take an object away.

    Raises:
        PutRefused: it did not work.
        ValueError: the name is none.
    """
    check_name(name)
    asyncio.run(_within_limits(bucket, _Sending(bucket).remove(name)))


async def _within_limits(bucket: Bucket, work: Any) -> None:
    try:
        async with asyncio.timeout(bucket.limits.whole):
            await work
    except TimeoutError:
        raise PutRefused(PutCode.TIMED_OUT) from None
    except (aiohttp.ClientError, OSError, ValueError) as failure:
        raise PutRefused(_code_of(failure)) from None  # texts of failures name addresses


class _Sending:
    """Requests to one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        try:
            parts = check_form(bucket.endpoint_url, bucket.rules)
        except (BadUrl, Blocked):
            raise PutRefused(PutCode.ADDRESS_REFUSED) from None
        host, before = parts.netloc, f"/{bucket.name}"
        if not bucket.path_style:
            host, before = f"{bucket.name}.{host}", ""
        self._host = host
        self._root = f"{parts.scheme}://{host}"
        self._before = f"{before}/{bucket.folder}/" if bucket.folder else f"{before}/"

    async def put(self, file: BinaryIO, size: int, name: str) -> None:
        async with self._session() as session:
            if size <= PART_BYTES:
                await self._send(session, "PUT", name, body=_Body(file, 0, size))
            else:
                await self._put_in_parts(session, file, size, name)

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

    async def _put_in_parts(self, session: aiohttp.ClientSession, file: BinaryIO, size: int, name: str) -> None:
        _, begun = await self._send(session, "POST", name, {"uploads": ""})
        found = _UPLOAD.search(begun)
        if found is None:
            raise PutRefused(PutCode.REFUSED)
        upload = {"uploadId": html.unescape(found[1].decode())}
        try:
            tags = []
            for number, start in enumerate(range(0, size, PART_BYTES), 1):
                part = {"partNumber": str(number), **upload}
                body = _Body(file, start, min(PART_BYTES, size - start))
                headers, _ = await self._send(session, "PUT", name, part, body)
                tags.append((number, html.escape(headers.get("ETag", ""))))
            _, ended = await self._send(session, "POST", name, upload, _list_of(tags))
            # Whether it worked may be decided after the status was sent.
            if b"<CompleteMultipartUploadResult" not in ended:
                raise PutRefused(PutCode.BUSY)
        except BaseException:
            with suppress(PutRefused, TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_ABORT_SECONDS):
                    await self._send(session, "DELETE", name, upload)
            raise

    async def _send(
        self,
        session: aiohttp.ClientSession,
        method: str,
        name: str,
        parameters: Mapping[str, str] | None = None,
        body: "_Body | bytes" = b"",
    ) -> tuple[Mapping[str, str], bytes]:
        """Make one request; give the headers and the beginning of what comes back.

        Raises:
            PutRefused: the answer is none of 200 to 299, or holds an error all the same.
        """
        if isinstance(body, bytes):
            length, sha256 = len(body), hashlib.sha256(body).hexdigest()
        else:
            length, sha256 = body.length, body.digest()
        data = body if isinstance(body, bytes) else body.pieces()
        path, query = path_of(self._before + name), query_of(parameters or {})
        headers = {"Content-Length": str(length)}
        key, at = self._bucket.key, datetime.now(UTC)  # which the server compares with its own clock
        sent = signed(key, method, self._host, path, query, headers, sha256=sha256, at=at)
        url = URL(f"{self._root}{path}?{query}" if query else f"{self._root}{path}", encoded=True)
        async with session.request(method, url, data=data, headers=sent, allow_redirects=False) as answer:
            read = await _beginning(answer)
            error = _CODE.search(read)
            if not 200 <= answer.status < 300 or error:
                raise PutRefused(_meaning(answer.status, error[1].decode() if error else ""))
            return answer.headers, read


def _list_of(tags: Iterable[tuple[int, str]]) -> bytes:
    parts = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>" for number, tag in tags)
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()


def _meaning(status: int, code: str) -> PutCode:
    if code in _CODES:
        return _CODES[code]
    if status in _STATUSES:
        return _STATUSES[status]
    if 300 <= status < 400:
        return PutCode.REDIRECTED
    return PutCode.BUSY if status >= 500 else PutCode.REFUSED


async def _beginning(answer: aiohttp.ClientResponse) -> bytes:
    read = bytearray()
    async for piece in answer.content.iter_chunked(_MOST_READ):
        read += piece
        if len(read) >= _MOST_READ:
            answer.close()
            break
    return bytes(read[:_MOST_READ])


@dataclass(frozen=True, slots=True)
class _Body:
    """A stretch of a file."""

    file: BinaryIO
    start: int
    length: int

    def read(self) -> Iterator[bytes]:
        self.file.seek(self.start)
        left = self.length
        while piece := self.file.read(min(_PIECE, left)):
            yield piece
            left -= len(piece)

    def digest(self) -> str:
        digest = hashlib.sha256()
        for piece in self.read():
            digest.update(piece)
        return digest.hexdigest()

    async def pieces(self) -> AsyncIterator[bytes]:
        # The disk is read in the loop's own thread: nothing else runs in it.
        for piece in self.read():
            yield piece


def _code_of(failure: BaseException) -> PutCode:
    behind = list(causes(failure))
    if any(isinstance(cause, Blocked) for cause in behind):
        return PutCode.ADDRESS_REFUSED
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return PutCode.NAME_UNKNOWN
    if isinstance(failure, aiohttp.ClientSSLError) or any(isinstance(cause, ssl.SSLError) for cause in behind):
        return PutCode.TLS_FAILED
    return PutCode.UNREACHABLE
