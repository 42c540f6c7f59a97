"""One attempt over HTTP: sign the body, post it and read the answer within DEADLINE, whatever the receiver does."""

import asyncio
import email.utils
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

import aiohttp
from yarl import URL

from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.rules.request_headers import unsigned_headers
from lib.outbound import Blocked, Resolver, Rules, causes, socket_factory
from lib.standard_webhooks import Signer, headers

DEADLINE: Final = 15.0  # seconds for the whole attempt, from the DNS lookup to the last byte of the answer
CONNECT_WITHIN: Final = 5.0
MAX_READ: Final = 16_384  # bytes of an answer
MAX_STORED: Final = 4_096
KEEP_CONNECTIONS: Final = 30.0  # seconds
# Headers of the answer that are stored; others, cookies above all, may hold secrets of the receiver.
_STORED_HEADERS: Final = frozenset(
    {"content-type", "content-length", "date", "server", "retry-after", "location", "x-request-id"}
)
_MAX_HEADER_LENGTH: Final = 200

# Addresses that the current request was connected to: the connector opens sockets without knowing the request.
_peer: ContextVar[list[str]] = ContextVar("peer")


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint as sending needs it; each signer with the time at which it expires, None for the current one."""

    url: URL
    signers: tuple[tuple[Signer, datetime | None], ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    level: str = "id-only"
    client_id: UUID | None = None
    api_version: str = ""


class ReceiverAnswer(NamedTuple):
    """The answer to a post: an HTTP status, or an error without one."""

    code: int | None = None
    error: str = ""
    retry_after: timedelta | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    snippet: str = ""
    remote_ip: str | None = None


@asynccontextmanager
async def open_session(rules: Rules) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session for posts: with guarded sockets, without cookies, decompression or environment proxies."""
    make_socket, resolver = socket_factory(rules), Resolver(rules)

    def open_socket(addr_info: Any) -> Any:
        _peer.get().append(str(addr_info[4][0]))
        return make_socket(addr_info)

    connector = _Connector(
        limit=0,  # deliveries in flight are limited by endpoint; a limit here would let one endpoint delay others
        resolver=resolver,
        socket_factory=open_socket,
        keepalive_timeout=KEEP_CONNECTIONS,
        ssl=_trust(),
    )
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,  # 16 KiB on the wire can be gigabytes when decompressed
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN),
        ) as session:
            yield session
    finally:
        await resolver.close()


class _Connector(aiohttp.TCPConnector):
    """Notes the address of each request, also on connections that are reused."""

    async def connect(self, *args: Any, **kwargs: Any) -> aiohttp.connector.Connection:
        connection = await super().connect(*args, **kwargs)
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        if peer:
            _peer.get().append(str(peer[0]))
        return connection


@cache
def _trust() -> ssl.SSLContext:
    """Read the certificates of the machine once: it takes 20 ms."""
    return ssl.create_default_context()


async def post(
    session: aiohttp.ClientSession, target: Target, body: bytes, *, event_id: str, attempt: int, at: datetime
) -> ReceiverAnswer:
    """Sign and send one attempt and read the answer; nothing that a receiver does raises an exception."""
    signers = [signer for signer, expires_at in target.signers if expires_at is None or at < expires_at]
    sent = {
        **unsigned_headers(event_id, attempt=attempt, at=at, custom=target.headers),
        **headers(event_id, timestamp=int(at.timestamp()), body=body, signers=signers),
    }
    peer: list[str] = []
    token = _peer.set(peer)
    try:
        async with (
            asyncio.timeout(DEADLINE),
            session.post(target.url, data=body, headers=sent, allow_redirects=False) as response,
        ):
            return _answer(response, await _beginning(response), peer)
    except TimeoutError:
        return ReceiverAnswer(error=ErrorClass.TIMEOUT, remote_ip=_last(peer))
    except (aiohttp.ClientError, OSError, ValueError) as failure:
        return ReceiverAnswer(error=_class_of(failure), remote_ip=_last(peer))
    finally:
        _peer.reset(token)


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """Read the body of the answer, up to MAX_READ bytes."""
    read = bytearray()
    while len(read) < MAX_READ:
        chunk = await response.content.read(MAX_READ - len(read))
        if not chunk:
            return bytes(read)
        read += chunk
    response.close()  # the rest is unread: the connection cannot be reused
    return bytes(read)


def _answer(response: aiohttp.ClientResponse, read: bytes, peer: list[str]) -> ReceiverAnswer:
    code = response.status
    stored: dict[str, str] = {}
    for name, value in response.headers.items():
        if (known := name.lower()) in _STORED_HEADERS:
            stored.setdefault(known, _storable(value[:_MAX_HEADER_LENGTH]))
    error = ""
    if not 200 <= code < 300:
        error = {3: ErrorClass.HTTP_3XX, 4: ErrorClass.HTTP_4XX}.get(code // 100, ErrorClass.HTTP_5XX)
    return ReceiverAnswer(
        code=code,
        error=error,
        retry_after=_retry_after(stored.get("retry-after", "")),
        headers=stored,
        snippet=_storable(read[:MAX_STORED].decode("utf-8", "replace")),
        remote_ip=_last(peer),
    )


def _storable(text: str) -> str:
    """Replace what PostgreSQL cannot store: NUL, and the surrogates that aiohttp decodes invalid bytes to."""
    if not text or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _last(peer: list[str]) -> str | None:
    return peer[-1].partition("%")[0] if peer else None


def _retry_after(text: str, now: datetime | None = None) -> timedelta | None:
    """Parse Retry-After: seconds, or a date (RFC 9110, 10.2.3); None if it is neither."""
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return timedelta(seconds=int(text[:8]))
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(timedelta(0), moment - (now or datetime.now(UTC)))


def _class_of(failure: BaseException) -> str:
    chain = list(causes(failure))
    if any(isinstance(cause, Blocked) for cause in chain):
        return ErrorClass.BLOCKED_IP
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return ErrorClass.DNS
    if isinstance(failure, aiohttp.ClientSSLError) or any(isinstance(cause, ssl.SSLError) for cause in chain):
        return ErrorClass.TLS
    if isinstance(failure, (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, aiohttp.http.HttpProcessingError)):
        return ErrorClass.PROTOCOL
    return ErrorClass.CONNECT
