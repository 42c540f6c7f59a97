"""Permitted targets of outgoing connections: a table of networks, and names whose address changes."""

import asyncio
import ipaddress
import itertools
import socket
import threading
import time
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from lib import outbound
from lib.outbound import BadUrl, Blocked, NameUnknown, Resolver, Rules, check_form, check_url, socket_factory

CLOSED = Rules()
PRIVATE = Rules(networks=tuple(map(ipaddress.ip_network, ("10.20.0.0/16", "169.254.0.0/16", "fd00::/8"))))
LOOPBACK = Rules(networks=(ipaddress.ip_network("127.0.0.0/8"),), plain_http=True)

REFUSED = [
    "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.170",
    "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.7",
    "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
    "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1",
    "fc00::1", "fd00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::a9fe:a9fe", "febf::1", "fec0::1", "feff::1",
    "ff00::1", "ff02::1", "ff0e::1",
]  # fmt: skip
ALLOWED = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "172.32.0.1", "11.0.0.1", "2606:4700:4700::1111", "2a00:1450::1"]


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_not_the_public_internet_is_refused(address: str) -> None:
    assert not CLOSED.allow(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ALLOWED)
def test_the_public_internet_is_allowed(address: str) -> None:
    assert CLOSED.allow(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.20.3.4", True),
        ("10.21.0.1", False),
        ("fd12::1", True),
        ("::ffff:10.20.3.4", False),  # the IPv4 network was allowed, not its other notations
        ("169.254.169.254", False),  # cloud metadata, whatever the setting
        ("::ffff:169.254.169.254", False),
        ("fd00:ec2::254", False),
    ],
)
def test_configured_network_is_allowed_and_metadata_never(address: str, allowed: bool) -> None:
    assert PRIVATE.allow(ipaddress.ip_address(address)) is allowed


@pytest.mark.parametrize("address", REFUSED)
def test_no_socket_is_opened_towards_a_refused_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    open_socket = socket_factory(CLOSED)

    with pytest.raises(Blocked):
        open_socket((family, socket.SOCK_STREAM, 6, "", (address, 443)))


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_in_the_url_is_refused_at_registration(address: str) -> None:
    host = f"[{address}]" if ":" in address else address

    with pytest.raises(Blocked):
        check_url(f"https://{host}/hook", CLOSED)


@pytest.mark.parametrize(
    "host",
    ["0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "127.1", "127.0.1", "0", "017700000001", "127.0.0.1.",
     "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]"],
)  # fmt: skip
def test_an_address_in_another_spelling_is_refused(host: str) -> None:
    with pytest.raises((Blocked, BadUrl)):
        check_form(f"https://{host}/hook", CLOSED)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/",
        "ftp://hooks.example.org/",
        "hooks.example.org",
        "https://",
        "https:///path",
        "https://user:pw@hooks.example.org/",
        "https://@hooks.example.org/",
        "https://hooks.example.org/#top",
        "https://hooks.example.org:22/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org:port/",
        "https://hooks .example.org/",
        "https://hooks.example.org\\@10.0.0.1/",
        "https://①②⑦.⓪.⓪.①/",
        "https://[::1/",
        "https://-bad-.example.org/",
        "https://hooks.example.org/\x00",
    ],
)
def test_what_cannot_be_an_address_of_a_webhook_is_refused(url: str) -> None:
    with pytest.raises(BadUrl):
        check_form(url, CLOSED)


@pytest.mark.parametrize("url", ["https://hooks.example.org/a?b=c", "https://hooks.example.org:8443"])
def test_an_ordinary_address_passes(url: str) -> None:
    check_url(url, CLOSED, resolve=lambda host, port: ["93.184.216.34"])


@pytest.mark.parametrize("url", ["https://8.8.8.8/", "https://[2606:4700:4700::1111]/"])
def test_ip_address_as_host_passes_in_allowed_networks_alone(url: str) -> None:
    networks = tuple(ipaddress.ip_network(text) for text in ("8.8.8.0/24", "2606:4700::/32"))

    check_url(url, Rules(networks=networks))
    with pytest.raises(Blocked):
        check_url(url, CLOSED)


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200"])
def test_no_setting_lets_anything_through_to_a_clouds_metadata(address: str) -> None:
    everything = Rules(networks=(ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")))

    assert not everything.allow(ipaddress.ip_address(address))


def test_plain_http_and_any_port_pass_where_the_setting_says_so() -> None:
    check_url("http://127.0.0.1:8123/hook", LOOPBACK)


def test_one_refused_address_of_a_name_refuses_the_name() -> None:
    with pytest.raises(Blocked):
        check_url("https://hooks.example.org/", CLOSED, resolve=lambda host, port: ["93.184.216.34", "10.0.0.1"])


def test_a_name_that_does_not_resolve_is_told_apart() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror

    with pytest.raises(NameUnknown):
        check_url("https://hooks.example.org/", CLOSED, resolve=unknown)


@pytest.mark.real_clock
def test_a_name_server_that_hangs_is_waited_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **given: let_go.wait(30) and [])
    monkeypatch.setattr(outbound, "LOOKUP_SECONDS", 0.05)

    began = time.monotonic()
    with pytest.raises(NameUnknown):
        check_url("https://hooks.example.org/", CLOSED)

    assert time.monotonic() - began < 5
    let_go.set()


def test_a_name_that_the_system_does_not_know_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*asked: Any, **given: Any) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(NameUnknown):
        check_url("https://hooks.example.org/", CLOSED)


def test_the_system_looks_names_up_unless_somebody_else_is_named() -> None:
    with pytest.raises(Blocked):
        check_url("https://localhost/", CLOSED)


@pytest.mark.real_clock
@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"])
def test_no_connection_is_made_to_loopback_however_it_is_written(host: str) -> None:
    async def post() -> BaseException | None:
        connector = aiohttp.TCPConnector(resolver=Resolver(CLOSED), socket_factory=socket_factory(CLOSED))
        async with aiohttp.ClientSession(connector=connector) as session:
            try:
                await session.post(f"http://{host}:{port}/")
            except (aiohttp.ClientError, OSError) as failure:
                return failure
        return None

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        server.settimeout(0.2)
        assert asyncio.run(post()) is not None
        with pytest.raises(TimeoutError):
            server.accept()


class _Rebinding(AbstractResolver):
    """Alternates between a public address and loopback, as an attacker's name server would."""

    def __init__(self) -> None:
        self._turn = itertools.cycle(["127.0.0.1", "127.0.0.2", "127.0.0.3"])

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=next(self._turn), port=port, family=socket.AF_INET, proto=6, flags=0)]

    async def close(self) -> None:
        return


def _post_to_rebinding_name(times: int, **guard: Any) -> tuple[int, list[str]]:
    """Post repeatedly; return the number of refusals, and the addresses that were connected to."""
    accepted: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer.get_extra_info("sockname")[0])
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def post() -> int:
        outside = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = outside.sockets[0].getsockname()[1]
        inside = await asyncio.start_server(serve, ["127.0.0.2", "127.0.0.3"], port)
        connector = aiohttp.TCPConnector(resolver=_Rebinding(), use_dns_cache=False, force_close=True, **guard)
        refused = 0
        async with outside, inside, aiohttp.ClientSession(connector=connector) as session:
            for _ in range(times):
                try:
                    async with session.get(f"http://rebind.test:{port}/"):
                        pass
                except aiohttp.ClientError:
                    refused += 1
        return refused

    return asyncio.run(post()), accepted


@pytest.mark.real_clock
def test_host_that_changes_its_dns_answer_reaches_allowed_ips() -> None:
    """Loopback stands in for both: 127.0.0.1 is the external receiver, 127.0.0.2 and .3 are the internal network.

    Ten thousand connections.
    """
    rules = Rules(networks=(ipaddress.ip_network("127.0.0.1/32"),), plain_http=True)

    refused, accepted = _post_to_rebinding_name(10_000, socket_factory=socket_factory(rules))

    assert refused == 6_666
    assert accepted == ["127.0.0.1"] * 3_334


@pytest.mark.real_clock
def test_without_the_guard_the_name_reaches_the_inside() -> None:
    """Control: without the guard, the test above fails."""
    refused, accepted = _post_to_rebinding_name(3)

    assert refused == 0
    assert accepted == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]


@pytest.mark.real_clock
def test_a_name_is_looked_up_for_the_connector() -> None:
    async def look_up() -> list[str]:
        resolver = Resolver(Rules(networks=(ipaddress.ip_network("127.0.0.0/8"),)))
        try:
            return [one["host"] for one in await resolver.resolve("localhost", 443, socket.AF_INET)]
        finally:
            await resolver.close()

    assert set(asyncio.run(look_up())) == {"127.0.0.1"}
