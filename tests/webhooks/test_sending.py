"""One attempt, and all kinds of receiver behavior."""

import asyncio
import datetime as dt
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import pytest
from yarl import URL

from apps.webhooks.services import sending
from apps.webhooks.services.sending import ReceiverAnswer, Target
from lib.standard_webhooks import hmac_of, new_secret
from tests.factories import NOW
from tests.webhooks.made import LOOPBACK
from tests.webhooks.receiver import Receiver

pytestmark = pytest.mark.real_clock

SIGNER = hmac_of(new_secret())


def _post(url: str, target: dict[str, Any] | None = None, at: dt.datetime = NOW) -> ReceiverAnswer:
    async def post() -> ReceiverAnswer:
        async with sending.open_session(LOOPBACK) as session:
            given: dict[str, Any] = {"url": URL(url), "signers": ((SIGNER, None),)} | (target or {})
            return await sending.post(session, Target(**given), b"{}", event_id="e", attempt=1, at=at)

    return asyncio.run(post())


@contextmanager
def _raw(answer: bytes) -> Iterator[int]:
    """Serve one connection with exactly these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)


def test_what_is_no_http_is_a_failure_of_the_protocol() -> None:
    with _raw(b"SSH-2.0-OpenSSH_9.2\r\n") as port:
        assert _post(f"http://127.0.0.1:{port}/").error == "protocol"


def test_an_answer_that_breaks_off_is_a_failure_of_the_protocol() -> None:
    with _raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf") as port:
        answer = _post(f"http://127.0.0.1:{port}/")

    assert (answer.code, answer.error) == (None, "protocol")


def test_a_receiver_that_hangs_up_is_a_failure_of_connecting() -> None:
    with _raw(b"") as port:
        assert _post(f"http://127.0.0.1:{port}/").error == "connect"


def test_a_name_that_does_not_resolve_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: Any, **more: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr("lib.outbound.socket.getaddrinfo", unknown)

    assert _post("http://nowhere.example.org/").error == "dns"


def test_a_name_with_an_address_inside_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    def inside(host: str, port: int, **more: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", port))]

    monkeypatch.setattr("lib.outbound.socket.getaddrinfo", inside)

    assert _post("http://rebind.example.org/").error == "blocked_ip"


def test_plain_server_behind_https_url_is_a_tls_failure(receiver: Receiver) -> None:
    assert _post(receiver.url.replace("http://", "https://")).error == "tls"


def test_connection_that_is_not_established_in_time_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "CONNECT_WITHIN", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        answer = _post(f"http://127.0.0.1:{address[1]}/")
        for one in waiting:
            one.close()

    assert answer.error == "timeout"


def test_a_post_that_somebody_else_cancels_is_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled(port: int) -> bool:
        async with sending.open_session(LOOPBACK) as session:
            target = Target(url=URL(f"http://127.0.0.1:{port}/"), signers=((SIGNER, None),))
            post = asyncio.create_task(sending.post(session, target, b"{}", event_id="e", attempt=1, at=NOW))
            await asyncio.sleep(0.1)
            post.cancel()
            await asyncio.wait([post])
            return post.cancelled()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert asyncio.run(cancelled(silent.getsockname()[1]))


def test_a_secret_that_has_expired_signs_no_more(receiver: Receiver) -> None:
    old, older = hmac_of(new_secret()), hmac_of(new_secret())
    signers = ((SIGNER, None), (old, NOW + dt.timedelta(seconds=1)), (older, NOW))

    _post(receiver.url, {"signers": signers})

    assert len(receiver.got[0].headers["webhook-signature"].split()) == 2


def test_headers_of_the_endpoint_go_along_and_ours_stand(receiver: Receiver) -> None:
    _post(receiver.url, {"headers": {"x-gateway-key": "k", "authorization": "Basic eA=="}})

    headers = receiver.got[0].headers
    assert (headers["x-gateway-key"], headers["authorization"]) == ("k", "Basic eA==")
    assert {"accept", "accept-encoding"}.isdisjoint(headers)
    assert "cookie" not in headers


def test_a_proxy_of_the_environment_is_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert _post(receiver.url).code == 204


def test_certificates_are_verified_and_old_tls_is_not_spoken() -> None:
    async def context() -> ssl.SSLContext:
        async with sending.open_session(LOOPBACK) as session:
            found = session.connector._ssl  # type: ignore[union-attr]  # what it will use
            assert isinstance(found, ssl.SSLContext)
            return found

    found = asyncio.run(context())

    assert (found.verify_mode, found.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert found.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("0", 0),
        ("120", 120),
        ("99999999999999", 99_999_999),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("Fri, 20 Nov 2026 15:02:00 GMT", 120),
        ("Fri, 20 Nov 2026 15:02:00 -0000", 120),
        ("Fri, 20 Nov 2026 14:00:00 GMT", 0),
        ("²", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: int | None) -> None:
    found = sending._retry_after(text, NOW)

    assert (None if found is None else found.total_seconds()) == seconds


def test_a_connection_that_is_closed_already_names_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        transport = None

    async def connect(*given: Any, **more: Any) -> Closed:
        return Closed()

    async def peers() -> list[str]:
        peer: list[str] = []
        sending._peer.set(peer)
        connector = sending._Connector()
        await connector.connect()
        await connector.close()
        return peer

    monkeypatch.setattr(aiohttp.TCPConnector, "connect", connect)

    assert asyncio.run(peers()) == []


def test_certificates_of_the_machine_are_read_once() -> None:
    sending._trust.cache_clear()  # another test of this process may have cached it

    trust = sending._trust()

    assert trust.verify_mode is ssl.CERT_REQUIRED
    assert trust.check_hostname
    assert sending._trust() is trust
