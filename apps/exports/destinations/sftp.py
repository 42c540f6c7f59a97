"""Upload to SFTP servers, by paramiko.

A file is written as `.<name>.<8 hex digits>.part` and renamed when every write has been confirmed.  Before an upload,
stale `.part` files of that name are deleted, so that an orphaned upload cannot rename one into place.  A server without
`posix-rename@openssh.com` cannot replace a file: the older one is then deleted first.

paramiko gets a socket that is connected already: the host name was looked up and every address of it checked by
`lib.outbound`, and the connection goes to the checked address itself.  paramiko reads no configuration, known_hosts
file or agent here.  The server has to present the pinned host key before any secret is used.  Errors are told apart
by the protocol's status codes and by the step that failed, never by a server's texts.

A timer closes the connection when an upload has taken too long, whatever step it is in; a server that sends nothing for
`Limits.read` seconds is given up earlier.
"""

import errno
import io
import re
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Final

import paramiko
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from apps.exports.destinations.errors import Limits, UploadError, UploadErrorCode
from apps.exports.destinations.names import check_name
from apps.exports.destinations.ssh_keys import SIGNATURES, HostKey
from lib.outbound import BadUrl, Blocked, NameUnknown, Rules, allowed_addresses, check_host

_MAX_ADDRESSES: Final = 4  # of a host name to try
_CHUNK_BYTES: Final = 32_768  # of a write request, which every server has to accept (draft-ietf-secsh-filexfer-02, 3)
_KEEPALIVES: Final = 4  # within `Limits.read`
# What paramiko still offers and OpenSSH does not.
_OLD_ALGORITHMS: Final = {
    "ciphers": ("3des-cbc", "aes128-cbc", "aes192-cbc", "aes256-cbc"),
    "macs": ("hmac-md5", "hmac-md5-96", "hmac-sha1-96"),
}
# What paramiko raises, and what its parsers raise at bytes that are not SSH.
_FAILURES: Final = (
    paramiko.SSHException,
    paramiko.SFTPError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    struct.error,
    InvalidTag,
)
_STATUS_CODES: Final = {
    errno.ENOENT: UploadErrorCode.NO_SUCH_FOLDER,
    errno.EACCES: UploadErrorCode.NOT_AUTHORIZED,
}


@dataclass(frozen=True, slots=True)
class Server:
    """A server and its credentials: `password`, or `private_key` in OpenSSH's format without passphrase.

    `folder` is a path, relative to the account's own folder unless it begins with `/`.
    """

    host: str
    port: int
    username: str
    host_key: str  # "": no key is trusted
    password: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    folder: str = ""
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)

    def path(self, name: str) -> str:
        """Return the remote path of a file in the folder."""
        return f"{self.folder.rstrip('/')}/{name}" if self.folder else name


def upload(server: Server, file: BinaryIO, name: str) -> None:
    """Upload a file; replaces a file of that name.

    Raises:
        UploadError: the file is not there under its name; a `.part` file may be left, which the next upload deletes.
        ValueError: the name is not allowed.
    """
    check_name(name)
    target, part = server.path(name), server.path(f".{name}.{secrets.token_hex(4)}.part")
    with _connected(server) as client:
        _delete_stale_parts(client, server, name)
        with _step(client, UploadErrorCode.REFUSED):
            remote = client.open(part, "wb")
        try:
            with _step(client, UploadErrorCode.NO_SPACE):  # version 3 of the protocol has no status for a full disk
                _write(remote, file)
            with _step(client, UploadErrorCode.REFUSED):
                _rename(client, part, target)
        except UploadError as failure:
            if failure.code in (UploadErrorCode.NO_SPACE, UploadErrorCode.REFUSED):
                with suppress(OSError):
                    client.remove(part)
            raise


def remove(server: Server, name: str) -> None:
    """Delete a file.

    Raises:
        UploadError: it was not deleted.
        ValueError: the name is not allowed.
    """
    check_name(name)
    with _connected(server) as client, _step(client, UploadErrorCode.REFUSED, {}):
        client.remove(server.path(name))


def host_keys(host: str, port: int, rules: Rules, *, seconds: float = 10) -> list[HostKey]:
    """Return a server's host keys, the preferred one first; takes `seconds` at most.

    They are unverified: a person has to compare a fingerprint.  Connects once per type of
    key, because a server presents only one key per connection.

    Raises:
        UploadError: nothing answers there that speaks SSH.
    """
    keys, end = [], time.monotonic() + seconds
    for key_type in SIGNATURES:
        with (
            _transport(_connect(host, port, rules, end - time.monotonic()), [key_type]) as transport,
            _closing_after(end - time.monotonic(), transport),
            suppress(paramiko.ssh_exception.IncompatiblePeer),  # the server has no key of this type
        ):
            keys.append(_negotiate(transport))
    if not keys:
        raise UploadError(UploadErrorCode.UNREACHABLE)
    return keys


@contextmanager
def _connected(server: Server) -> Iterator[paramiko.SFTPClient]:
    """Sign in to a server whose host key is the pinned one.

    Raises:
        UploadError: signing in failed, or the time for the whole upload is over.
    """
    if not server.host_key:
        raise UploadError(UploadErrorCode.NO_HOST_KEY)
    limits = server.limits
    pinned_type = server.host_key.partition(" ")[0]
    # The pinned type first: a server that has keys of several types then presents that one.
    key_types = sorted(SIGNATURES, key=lambda key_type: key_type != pinned_type)
    sock = _connect(server.host, server.port, server.rules, limits.connect)
    with _transport(sock, key_types) as transport, _closing_after(limits.total, transport):
        with _closing_after(min(limits.read, limits.total), transport):
            if str(_negotiate(transport)) != server.host_key:
                raise UploadError(UploadErrorCode.HOST_KEY_CHANGED)
            _sign_in(transport, server)
            channel = transport.open_session()
            channel.invoke_subsystem("sftp")
            client = paramiko.SFTPClient(channel)
        transport.set_keepalive(max(1, round(limits.read / _KEEPALIVES)))
        channel.settimeout(limits.read)
        yield client


@contextmanager
def _transport(sock: socket.socket, key_types: list[str]) -> Iterator[paramiko.Transport]:
    """Open a transport over a connected socket, and translate what paramiko raises while it is open.

    Raises:
        UploadError: something failed.
    """
    with sock:
        transport = paramiko.Transport(sock, disabled_algorithms=_OLD_ALGORITHMS)
        names = [name for key_type in key_types for name in SIGNATURES[key_type].split(",")]
        transport.get_security_options().key_types = names
        # The timers below end these waits: paramiko's own would not say that time was the reason.
        transport.banner_timeout = transport.auth_timeout = transport.handshake_timeout = 3_600
        try:
            yield transport
        except UploadError:
            raise
        except paramiko.AuthenticationException:
            raise UploadError(UploadErrorCode.NOT_AUTHORIZED) from None
        except (paramiko.ChannelException, paramiko.ssh_exception.IncompatiblePeer):
            raise UploadError(UploadErrorCode.REFUSED) from None
        except TimeoutError:
            raise UploadError(UploadErrorCode.TIMED_OUT) from None
        except _FAILURES:
            raise UploadError(UploadErrorCode.UNREACHABLE) from None
        finally:
            transport.close()


@contextmanager
def _closing_after(seconds: float, transport: paramiko.Transport) -> Iterator[None]:
    """Close the connection after a time, and report the failure that this causes as a timeout.

    Raises:
        UploadError: the time was over.
    """
    expired = threading.Event()

    def close() -> None:
        expired.set()
        transport.close()
        transport.sock.close()

    timer = threading.Timer(max(0, seconds), close)
    timer.start()
    try:
        yield
    except _FAILURES:
        if expired.is_set():
            raise UploadError(UploadErrorCode.TIMED_OUT) from None
        raise
    finally:
        timer.cancel()


@contextmanager
def _step(
    client: paramiko.SFTPClient,
    failure_code: UploadErrorCode,
    status_codes: dict[int, UploadErrorCode] = _STATUS_CODES,
) -> Iterator[None]:
    """Translate the status of a failed request; `failure_code` is for a plain "failure".

    Raises:
        UploadError: the server refused a request, or the connection is closed.
    """
    try:
        yield
    except TimeoutError:
        raise
    except OSError as failure:  # paramiko's form of a status
        channel = client.get_channel()
        if channel is None or channel.closed:
            raise UploadError(UploadErrorCode.UNREACHABLE) from None
        raise UploadError(status_codes.get(failure.errno or 0, failure_code)) from None


def _negotiate(transport: paramiko.Transport) -> HostKey:
    """Exchange keys, up to the point where the server has proved which host key it holds."""
    transport.start_client()
    key = transport.get_remote_server_key()
    return HostKey(key.get_name(), key.get_base64())


def _sign_in(transport: paramiko.Transport, server: Server) -> None:
    if server.private_key:
        transport.auth_publickey(server.username, _private_key(server.private_key))
    else:
        transport.auth_password(server.username, server.password)  # or keyboard-interactive, with the same answer
    if not transport.is_authenticated():  # the server asks for a second factor
        raise UploadError(UploadErrorCode.NOT_AUTHORIZED)


def _private_key(text: str) -> paramiko.PKey:
    key, file = load_ssh_private_key(text.encode(), password=None), io.StringIO(text)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return paramiko.Ed25519Key.from_private_key(file)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return paramiko.ECDSAKey.from_private_key(file)
    if isinstance(key, rsa.RSAPrivateKey):
        return paramiko.RSAKey.from_private_key(file)
    raise UploadError(UploadErrorCode.NOT_AUTHORIZED)  # no server accepts DSA any more


def _delete_stale_parts(client: paramiko.SFTPClient, server: Server, name: str) -> None:
    """Delete what interrupted uploads left; a folder that may not be listed is left as it is."""
    stale = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.part", re.ASCII)
    with _step(client, UploadErrorCode.REFUSED), suppress(OSError):
        # Collected first: paramiko loses answers if another request is sent while it lists.
        entries = client.listdir_iter(server.folder or ".")
        for part in [entry.filename for entry in entries if stale.fullmatch(entry.filename)]:
            client.remove(server.path(part))


def _write(remote: paramiko.SFTPFile, file: BinaryIO) -> None:
    """Write a file without waiting for each answer: over a long line that takes a tenth of the time."""
    file.seek(0)
    with remote:
        remote.set_pipelined(True)
        chunks = iter(partial(file.read, _CHUNK_BYTES), b"")
        chunk = next(chunks, b"")
        for following in chunks:
            remote.write(chunk)
            chunk = following
        # A write that is not pipelined waits for the answers of all before it; closing the file would drop them.
        remote.set_pipelined(False)
        remote.write(chunk)


def _rename(client: paramiko.SFTPClient, source: str, target: str) -> None:
    """Rename a file; replaces one of that name."""
    renames: tuple[Callable[[str, str], None], ...] = (client.posix_rename, client.rename)
    for rename in renames:
        try:
            return rename(source, target)
        except OSError as failure:
            if failure.errno is not None:  # not allowed, or not there; else: not supported, or the target exists
                raise
    with suppress(OSError):
        client.remove(target)
    return client.rename(source, target)


def _connect(host: str, port: int, rules: Rules, seconds: float) -> socket.socket:
    """Connect to the first allowed address of a host that answers; the addresses share the time.

    Raises:
        UploadError: no address answers, or one is not allowed.
    """
    try:
        check_host(host, rules)
        allowed = allowed_addresses(host, port, rules)
    except (BadUrl, Blocked):
        raise UploadError(UploadErrorCode.ADDRESS_REFUSED) from None
    except NameUnknown:
        raise UploadError(UploadErrorCode.NAME_UNKNOWN) from None
    code, end = UploadErrorCode.UNREACHABLE, time.monotonic() + seconds
    addresses = list(dict.fromkeys(allowed))[:_MAX_ADDRESSES]
    for number, address in enumerate(addresses):
        share = max(0.1, (end - time.monotonic()) / (len(addresses) - number))
        try:
            return socket.create_connection((address, port), timeout=share)
        except TimeoutError:
            code = UploadErrorCode.TIMED_OUT
        except OSError:
            code = UploadErrorCode.UNREACHABLE
    raise UploadError(code)
