"""Restrictions on outgoing connections to addresses that users enter (protection against SSRF).

An address is checked twice.  `check_url` checks it when it is registered, for a clear error message.  The decisive
check is at every connection, on the socket address itself: by then, a name may resolve to a different address, and
`socket_factory` sees the address that is passed to the kernel.
"""

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise
from yarl import URL

from lib.messages import Message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PORTS: Final = frozenset({443, 8443})
LOOKUP_SECONDS: Final = 3.0  # the system's resolver may take half a minute
_LOOKUPS_AT_ONCE: Final = 64  # so that one slow name server does not block look-ups of other names

# Not reachable from outside, or a way around the filter.  IPv6 addresses that embed an IPv4 address are refused,
# because the embedded address is not checked.  `is_global` of Python 3.11 accepts several of these networks.
_NEVER_GLOBAL: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
        "::/96",
        "::ffff:0:0/96",
        "fec0::/10",
        "192.88.99.0/24",
        "192.0.0.0/24",
        "100.64.0.0/10",
        "3fff::/20",
        "5f00::/16",
    )
)
# Metadata services of cloud providers, which return credentials: no setting allows them.
_METADATA: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::254/128",
        "fd20:ce::254/128",
        "100.100.100.200/32",
        "168.63.129.16/32",
    )
)
# Notations that some resolvers read as an address but `ipaddress` does not: 0x7f.1, 0177.0.0.1, 2130706433, 127.1.
_NUMBERS: Final = re.compile(r"(0x[0-9a-f]*|\d+)(\.(0x[0-9a-f]*|\d+))*\.?", re.ASCII | re.IGNORECASE)
_NAME: Final = re.compile(r"(?=.{1,253}\.?$)[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*\.?")


class Blocked(OSError):
    """The address is not allowed for outgoing connections."""


class BadUrl(ValueError):
    """The URL is malformed.  `text` describes what `%(field)s` must be."""

    def __init__(self, template: StrPromise, /, **parameters: object) -> None:
        super().__init__(template)
        self.text = Message(template, parameters)


class NameUnknown(ValueError):
    """The host name does not resolve."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The allowed destinations of connections.

    `networks` are allowed besides the public internet, for interface engines in the hospital's own network; addresses
    of cloud metadata services are never allowed.  With `plain_http`, http and any port are accepted.
    """

    networks: tuple[Network, ...] = ()
    plain_http: bool = False
    ports: frozenset[int] = PORTS

    def allow(self, address: Address) -> bool:
        """Return whether connections to the address are allowed."""
        mapped = getattr(address, "ipv4_mapped", None)
        if _within(address, _METADATA) or (mapped is not None and _within(mapped, _METADATA)):
            return False
        if _within(address, self.networks):
            return True
        never = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_link_local
        return address.is_global and not never and not _within(address, _NEVER_GLOBAL)


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def check_host(host: str, rules: Rules) -> None:
    """Check the name or address of a host without resolving it.

    Raises:
        BadUrl: it is neither.
        Blocked: it is an address outside the allowed networks, or written as a number.
    """
    address = literal(host)
    if address is not None:  # an address has no name and no certificate: allowed only in networks of the operator
        if not (_within(address, rules.networks) and rules.allow(address)):
            raise Blocked
    elif _NUMBERS.fullmatch(host):
        raise Blocked
    elif not _NAME.fullmatch(host):
        raise BadUrl(_("%(field)s must have a host name of letters, digits and hyphens."))


def check_form(url: str, rules: Rules) -> SplitResult:
    """Check a URL without resolving its host.

    Raises:
        BadUrl: its scheme or port is not allowed, or it has a user, a fragment, or no usable host.
        Blocked: its host is an address outside the allowed networks, or written as a number.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        URL(url)  # as aiohttp will parse it
    except ValueError:
        raise BadUrl(_("%(field)s must be a URL.")) from None
    if parts.scheme not in ({"https", "http"} if rules.plain_http else {"https"}):
        raise BadUrl(
            _("%(field)s must be an http or https URL.") if rules.plain_http else _("%(field)s must be an https URL.")
        )
    if "@" in parts.netloc or "#" in url or "\\" in url or any(char <= " " for char in url):
        raise BadUrl(_("%(field)s must have no user, password or fragment."))
    if not rules.plain_http and (port or 443) not in rules.ports:
        raise BadUrl(_("%(field)s must use one of the ports %(ports)s."), ports=sorted(rules.ports))
    check_host(parts.hostname or "", rules)
    return parts


def literal(host: str) -> Address | None:
    """Parse a host that is an address; None if it is a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def check_url(url: str, rules: Rules, *, resolve: Callable[[str, int], Sequence[str]] | None = None) -> None:
    """Check a URL, and the addresses that its host resolves to now.  Does a DNS look-up.

    Raises:
        BadUrl: it is malformed.
        NameUnknown: the name does not resolve.
        Blocked: one of its addresses is not allowed.
    """
    parts = check_form(url, rules)
    host = parts.hostname or ""
    if literal(host) is None:
        allowed_addresses(host, parts.port or 443, rules, resolve=resolve)


def allowed_addresses(
    host: str, port: int, rules: Rules, *, resolve: Callable[[str, int], Sequence[str]] | None = None
) -> list[str]:
    """Resolve a name, or an address, and return its addresses if all are allowed.

    For programs that have to be passed the address to connect to.

    Raises:
        NameUnknown: the name does not resolve.
        Blocked: one of its addresses is not allowed.
    """
    try:
        addresses = list((resolve or addresses_of)(host, port))
    except (OSError, UnicodeError):
        raise NameUnknown from None
    if not all(rules.allow(ipaddress.ip_address(address.partition("%")[0])) for address in addresses):
        raise Blocked
    return addresses


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve a name with the system's resolver, within LOOKUP_SECONDS, because the caller may have a transaction open.

    Raises:
        OSError: the name is unknown, or the time is up; the look-up continues in its thread.
        UnicodeError: it is not a valid name.
    """
    answer: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as failure:
            answer.set_exception(failure)
        else:
            answer.set_result([str(entry[4][0]) for entry in entries])

    threading.Thread(target=look_up, daemon=True).start()
    return answer.result(LOOKUP_SECONDS)


def causes(failure: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes: libraries wrap the errors of `socket_factory` and `Resolver`."""
    while failure is not None:
        yield failure
        failure = failure.__cause__ or failure.__context__ or getattr(failure, "os_error", None)


def socket_factory(rules: Rules) -> Callable[[Any], socket.socket]:
    """Return the socket factory for aiohttp, which opens sockets only for allowed addresses.

    The factory raises Blocked, which aiohttp sets as the cause of its connection error.
    """

    def open_socket(addr_info: Any) -> socket.socket:
        family, kind, protocol, _, address = addr_info
        if not rules.allow(ipaddress.ip_address(str(address[0]).partition("%")[0])):
            raise Blocked(f"{family.name} address refused")  # without the address, because the message is logged
        return socket.socket(family=family, type=kind, proto=protocol)

    return open_socket


class Resolver(AbstractResolver):
    """Resolves names in its own threads, and refuses a name if any of its addresses is not allowed.

    uvloop has four threads for look-ups: four names that hang would block all others.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="look-up")

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(self._threads, _look_up, host, port, family)
        if not all(self._rules.allow(ipaddress.ip_address(result["host"].partition("%")[0])) for result in results):
            raise Blocked(f"an address of the name is refused, of {len(results)}")
        return results

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int, family: Any) -> list[ResolveResult]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=int(address[1]),
            family=kind,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in entries
    ]
