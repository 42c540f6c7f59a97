"""Real servers on loopback for uploads: SFTP by asyncssh, and S3 by moto."""

import asyncio
import ipaddress
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.request import Request, urlopen

import asyncssh
import boto3
from moto.server import ThreadedMotoServer

from apps.exports.destinations.s3 import AccessKey, Bucket
from apps.exports.destinations.sftp import Server
from lib.outbound import Rules

INSIDE: Final = Rules(networks=(ipaddress.ip_network("127.0.0.0/8"),), plain_http=True)
USERNAME: Final = "carelane"
PASSWORD: Final = "pass 'word\" $x"  # of these servers, with characters that break in a shell
REGION: Final = "us-east-1"


class Sftp(asyncssh.SFTPServer):
    """SFTP server that is confined to a folder."""

    opened: ClassVar[list[Any]] = []

    def __init__(self, channel: Any, root: Path) -> None:
        super().__init__(channel, chroot=str(root).encode())

    def open(self, path: bytes, pflags: int, attrs: Any) -> Any:
        found = super().open(path, pflags, attrs)
        self.opened.append(found)
        return found


@dataclass(frozen=True, slots=True)
class Listening:
    """A running SFTP server, and the files in it."""

    port: int
    host_key: str
    root: Path

    def server(self, **given: Any) -> Server:
        told = {"host": "127.0.0.1", "port": self.port, "username": USERNAME, "host_key": self.host_key}
        sign_in = {} if "private_key" in given else {"password": PASSWORD}
        return Server(**{**told, **sign_in, "rules": INSIDE, **given})

    def there(self) -> dict[str, bytes]:
        return {str(one.relative_to(self.root)): one.read_bytes() for one in self.root.rglob("*") if one.is_file()}


def public_line(key: Any) -> str:
    """Return the public half of a host key as a known_hosts line, without the host."""
    return " ".join(key.export_public_key().decode().split()[:2])


@contextmanager
def sftp(root: Path, *, answers: type[Sftp] = Sftp, authorized: str = "", key: Any = None) -> Iterator[Listening]:
    """Serve a folder from a thread, for the password or a key of `authorized`."""

    connections: list[asyncssh.SSHServerConnection] = []

    class Doors(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            connections.append(conn)

        def password_auth_supported(self) -> bool:
            return not authorized

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == (USERNAME, PASSWORD)

    keys = key if isinstance(key, list) else [key or asyncssh.generate_private_key("ssh-ed25519")]
    listening: list[int] = []
    stop: list[Callable[[], object]] = []
    started = threading.Event()

    async def serve() -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(stopped.set))
        server = await asyncssh.create_server(
            Doors,
            "127.0.0.1",
            0,
            server_host_keys=keys,
            authorized_client_keys=asyncssh.import_authorized_keys(authorized) if authorized else None,
            sftp_factory=lambda channel: answers(channel, root),
        )
        listening.append(server.get_port())
        started.set()
        await stopped.wait()
        server.close()
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.wait_closed() for connection in connections))

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield Listening(listening[0], public_line(keys[0]), root)
    finally:
        stop[0]()
        thread.join(10)
        while Sftp.opened:
            Sftp.opened.pop().close()  # aborted connections


@dataclass(frozen=True, slots=True)
class Buckets:
    """S3 service with the bucket `claims`, and a key that may only put objects whose names begin with `in/`."""

    url: str
    key: AccessKey

    def bucket(self, **given: Any) -> Bucket:
        told = {"endpoint_url": self.url, "name": "claims", "key": self.key, "folder": "in", "path_style": True}
        return Bucket(**{**told, "rules": INSIDE, **given})

    def client(self, service: str = "s3") -> Any:
        secret = {"aws_access_key_id": "operator", "aws_secret_access_key": "operator"}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **secret)

    def there(self, bucket: str = "claims") -> dict[str, bytes]:
        with self.trusting_everybody():
            client = self.client()
            found = client.list_objects_v2(Bucket=bucket).get("Contents", [])
            return {one["Key"]: client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in found}

    def unfinished(self) -> list[str]:
        """Return multipart uploads that were neither completed nor aborted."""
        with self.trusting_everybody():
            return [one["Key"] for one in self.client().list_multipart_uploads(Bucket="claims").get("Uploads", [])]

    @contextmanager
    def trusting_everybody(self) -> Iterator[None]:
        self.ask_after("inf")
        try:
            yield
        finally:
            self.ask_after("0")

    def ask_after(self, requests: str) -> None:
        """Check signatures and policies only after this many further requests."""
        _post(f"{self.url}/moto-api/reset-auth", requests)


def _post(url: str, text: str) -> None:
    request = Request(url, data=text.encode(), method="POST", headers={"Content-Type": "text/plain"})  # noqa: S310  # loopback
    urlopen(request).close()  # noqa: S310  # on loopback


@contextmanager
def buckets(policy: Any = ("s3:PutObject",)) -> Iterator[Buckets]:
    """Serve in-memory buckets that check signatures and policies as AWS does."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        found = Buckets(f"http://{host}:{port}", AccessKey("", "", REGION))
        found.client().create_bucket(Bucket="claims")
        iam = found.client("iam")
        iam.create_user(UserName="carelane")
        allowed = {"Effect": "Allow", "Action": list(policy), "Resource": "arn:aws:s3:::claims/in/*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.put_user_policy(UserName="carelane", PolicyName="put", PolicyDocument=document)
        made = iam.create_access_key(UserName="carelane")["AccessKey"]
        found.ask_after("0")
        yield Buckets(found.url, AccessKey(made["AccessKeyId"], made["SecretAccessKey"], REGION))
    finally:
        found.ask_after("inf")
        _post(f"{found.url}/moto-api/reset", "")
        moto.stop()


@contextmanager
def cutting_off(url: str, *, after: int) -> Iterator[int]:
    """Forward connections of a port to a server, and close them for good after this many bytes."""
    host, _, port = url.rpartition("/")[2].partition(":")
    left = [after]

    def hand_on(source: socket.socket, sink: socket.socket, *, counted: bool) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                left[0] -= len(piece) if counted else 0
                if left[0] < 0:
                    break
                sink.sendall(piece)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve(listener: socket.socket) -> None:
        with suppress(OSError), ExitStack() as open_ones:
            while left[0] >= 0:
                near = open_ones.enter_context(listener.accept()[0])
                far = open_ones.enter_context(socket.create_connection((host, int(port))))
                there = threading.Thread(target=hand_on, args=(near, far), kwargs={"counted": True})
                back = threading.Thread(target=hand_on, args=(far, near), kwargs={"counted": False})
                there.start()
                back.start()
                there.join()
                back.join()

    with socket.create_server((host, 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
