"""One attempt: sign, post, and read what comes back, within a deadline that nothing stretches."""

import asyncio
import email.utils
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple
from uuid import UUID

import aiohttp
import orjson
from yarl import URL

from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.rules.wire import unsigned_headers
from apps.webhooks.services.deadlines import Deadlines, deadlines
from lib.outbound import Blocked, Resolver, Rules, causes, socket_factory
from lib.standard_webhooks import Signer, headers

DEADLINE: Final = 15.0  # seconds for everything, from the look-up of the name to the last byte of the answer
CONNECT_WITHIN: Final = 5.0
MOST_READ: Final = 16_384
MOST_KEPT: Final = 4_096
KEEP_CONNECTIONS: Final = 30.0  # seconds
# Of the answer; the rest, cookies above all, is not ours to keep.
_KEPT_HEADERS: Final = frozenset(
    {"content-type", "content-length", "date", "server", "retry-after", "location", "x-request-id"}
)
_MOST_HEADER: Final = 200

# Where the request under way was connected to: the connector opens sockets without knowing for whom.
_peer: ContextVar[list[str]] = ContextVar("peer")


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint as sending needs it; `signers` end at their instant, None for the present one."""

    url: URL
    signers: tuple[tuple[Signer, datetime | None], ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    level: str = "id-only"
    client_id: UUID | None = None
    api_version: str = ""


class Answer(NamedTuple):
    """What came of a post: an HTTP status, or an error without one."""

    code: int | None = None
    error: str = ""
    retry_after: timedelta | None = None
    headers: str = "{}"
    snippet: str = ""
    remote_ip: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What posts are made with."""

    http: aiohttp.ClientSession
    deadlines: Deadlines


@asynccontextmanager
async def session(rules: Rules) -> AsyncIterator[Session]:
    """Open what posts are made with: guarded, without cookies, decompression or proxies of the environment."""
    opened, resolver = socket_factory(rules), Resolver(rules)

    def open_socket(addr_info: Any) -> Any:
        _peer.get().append(str(addr_info[4][0]))
        return opened(addr_info)

    connector = _Connector(
        limit=0,  # lanes have windows; a limit here would let one lane hold up others
        resolver=resolver,
        socket_factory=open_socket,
        keepalive_timeout=KEEP_CONNECTIONS,
        ssl=_trust(),
    )
    async with deadlines(DEADLINE) as clock:
        try:
            async with aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,  # sixteen kilobytes on the wire can be gigabytes unpacked
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN),
                request_class=_Request,
            ) as found:
                yield Session(found, clock)
        finally:
            await resolver.close()


class _Request(aiohttp.ClientRequest):
    """One with no headers but those that it is given: to list others as unwanted costs more, for every request."""

    DEFAULT_HEADERS: ClassVar[dict[Any, str]] = {}  # type: ignore[misc]  # the library's is a plain attribute


class _Connector(aiohttp.TCPConnector):
    """One that says whereto each request goes, on connections that are used again, too."""

    async def connect(self, *args: Any, **given: Any) -> aiohttp.connector.Connection:
        found = await super().connect(*args, **given)
        peer = found.transport.get_extra_info("peername") if found.transport else None
        if peer:
            _peer.get().append(str(peer[0]))
        return found


@cache
def _trust() -> ssl.SSLContext:
    """Read the machine's certificates once: it takes longer than a shift that finds nothing to do."""
    return ssl.create_default_context()


async def post(through: Session, target: Target, body: bytes, *, event_id: str, attempt: int, at: datetime) -> Answer:
    """Make one attempt.  Answers whatever happens: nothing that a receiver does raises."""
    signers = [signer for signer, until in target.signers if until is None or at < until]
    sent = {
        **unsigned_headers(event_id, attempt=attempt, at=at, own=target.headers),
        **headers(event_id, timestamp=int(at.timestamp()), body=body, signers=signers),
    }
    peer: list[str] = []
    mark = _peer.set(peer)
    task = through.deadlines.begin()
    try:
        async with through.http.post(target.url, data=body, headers=sent, allow_redirects=False) as response:
            read = await _beginning(response)
            return _answer(response, read, peer)
    except asyncio.CancelledError:
        if not through.deadlines.struck(task):
            raise
        return Answer(error=ErrorClass.TIMEOUT, remote_ip=_last(peer))
    except TimeoutError:  # of the connection alone
        return Answer(error=ErrorClass.TIMEOUT, remote_ip=_last(peer))
    except (aiohttp.ClientError, OSError, ValueError) as failure:
        return Answer(error=_class_of(failure), remote_ip=_last(peer))
    finally:
        through.deadlines.end(task)
        _peer.reset(mark)


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """Read the answer to its end, or so much of it that the rest does not matter."""
    read = bytearray()
    while len(read) < MOST_READ:
        chunk = await response.content.read(MOST_READ - len(read))
        if not chunk:
            return bytes(read)
        read += chunk
    response.close()  # there is more: this connection is not used again
    return bytes(read)


def _answer(response: aiohttp.ClientResponse, read: bytes, peer: list[str]) -> Answer:
    code = response.status
    kept: dict[str, str] = {}
    for name, value in response.headers.items():
        if (known := name.lower()) in _KEPT_HEADERS:
            kept.setdefault(known, _storable(value[:_MOST_HEADER]))
    error = ""
    if not 200 <= code < 300:
        error = {3: ErrorClass.HTTP_3XX, 4: ErrorClass.HTTP_4XX}.get(code // 100, ErrorClass.HTTP_5XX)
    return Answer(
        code=code,
        error=error,
        retry_after=_retry_after(kept.get("retry-after", "")),
        headers=orjson.dumps(kept).decode(),
        snippet=_storable(read[:MOST_KEPT].decode("utf-8", "replace")),
        remote_ip=_last(peer),
    )


def _storable(text: str) -> str:
    """Replace what PostgreSQL cannot hold: NUL, and the halves of characters that aiohttp reads stray bytes as."""
    if not text or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _last(peer: list[str]) -> str | None:
    return peer[-1].partition("%")[0] if peer else None


def _retry_after(text: str, now: datetime | None = None) -> timedelta | None:
    """Read Retry-After: seconds, or a date (RFC 9110, 10.2.3); None where it says nothing usable."""
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
    behind = list(causes(failure))
    if any(isinstance(cause, Blocked) for cause in behind):
        return ErrorClass.BLOCKED_IP
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return ErrorClass.DNS
    if isinstance(failure, aiohttp.ClientSSLError) or any(isinstance(cause, ssl.SSLError) for cause in behind):
        return ErrorClass.TLS
    if isinstance(failure, (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, aiohttp.http.HttpProcessingError)):
        return ErrorClass.PROTOCOL
    return ErrorClass.CONNECT
