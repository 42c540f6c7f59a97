"""Files put onto a server by SFTP, by OpenSSH's own program: under another name first, and renamed when they are whole.

It is told the address to connect to, one that was looked at (lib/outbound.py), knows one host key, reads no
configuration and asks nobody anything.  A try that was cut off, even by the end of this process, leaves
`.<name>.<8 hex digits>.part`; the next one takes such files away first, so that what was left running by the one
before finds nothing that it could rename.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.exports.destinations.names import check_name
from apps.exports.destinations.outcome import Limits, PutCode, PutRefused
from apps.exports.destinations.ssh_keys import SIGNATURES, BadKey, HostKey, host_key
from lib.outbound import BadUrl, Blocked, NameUnknown, Rules, allowed_addresses, check_host

_ASKPASS: Final = Path(__file__).with_name("askpass.sh")
_ALIAS: Final = "destination"  # by which the pinned key is found, whatever the address
_MOST_SAID: Final = 65_536  # bytes of complaints that are read
_SIGNS_OF_LIFE: Final = 4  # that may stay away
_SCAN_SECONDS: Final = 10
_MOST_ADDRESSES: Final = 4  # of a name that are tried

# What ssh and sftp say, in the order in which it is looked for; texts of OpenSSH 8.4 to 10.
_SAID: Final = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", PutCode.HOST_KEY_CHANGED),
    ("Host key verification failed", PutCode.HOST_KEY_CHANGED),
    ("no matching host key type", PutCode.HOST_KEY_CHANGED),
    ("Permission denied (", PutCode.NOT_AUTHORIZED),  # of signing in
    ('": Permission denied', PutCode.NOT_AUTHORIZED),  # of a file
    ("Too many authentication failures", PutCode.NOT_AUTHORIZED),
    ('": No such file or directory', PutCode.NO_SUCH_FOLDER),
    ('write remote "', PutCode.NO_SPACE),  # the file could be opened: servers say no more than "Failure"
    ("Couldn't write to remote file", PutCode.NO_SPACE),  # the same of OpenSSH before 9
    ("Connection timed out", PutCode.TIMED_OUT),
    ("not responding.", PutCode.TIMED_OUT),
    ("Connection closed", PutCode.UNREACHABLE),
    ("Connection refused", PutCode.UNREACHABLE),
    ("Connection reset", PutCode.UNREACHABLE),
    ("Broken pipe", PutCode.UNREACHABLE),
)
# Of a rename: a file of that name is there.  Folders and greetings may hold the word, too.
_RENAME_FAILED: Final = re.compile(r"^(?:remote rename|Couldn't rename file) \".*\": Failure\s*$", re.MULTILINE)
_UNIMPORTANT: Final = ("remote delete", "Couldn't delete", "Couldn't read directory")


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and whom it knows us as: by `password`, or by `private_key`, as OpenSSH writes it, without passphrase.

    `folder` is a path, of the account's own folder unless it begins with `/`.
    """

    host: str
    port: int
    username: str
    host_key: str  # "": none was agreed on
    password: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    folder: str = ""
    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)


def put(server: Server, path: Path, name: str, *, workshop: Path) -> None:
    """Put a file onto a server, in place of one of that name.

    `workshop` is an empty folder for this service's eyes alone; for as long as this takes it holds the private key.

    Raises:
        PutRefused: it did not work.
        FileNotFoundError: there is no such file.
        ValueError: the name is none.
    """
    check_name(name)
    path.stat()
    session = _Session(server, workshop)
    (workshop / "file").symlink_to(path.resolve())  # a name without anything that sftp would read something into
    part, others = f".{name}.{secrets.token_hex(4)}.part", f".{name}."
    place, beside = session.remote(name), session.remote(part)
    sweep = f"-rm {session.remote(others)}????????.part"
    said = session.run([sweep, f"put -f file {beside}", f"rename {beside} {place}"])
    if said is not None and _RENAME_FAILED.search(said):
        # Servers without posix-rename@openssh.com do not put one file in the place of another.
        said = session.run([f"-rm {place}", f"rename {beside} {place}"])
    if said is not None:
        code = _code_of(said)
        if code in (PutCode.NO_SPACE, PutCode.REFUSED):
            with suppress(PutRefused):
                session.run([f"-rm {beside}"])
        raise PutRefused(code)


def remove(server: Server, name: str, *, workshop: Path) -> None:
    """Take a file away; `workshop` as for `put`.

    Raises:
        PutRefused: it did not work.
        ValueError: the name is none.
    """
    check_name(name)
    session = _Session(server, workshop)
    said = session.run([f"rm {session.remote(name)}"])
    if said is not None:
        raise PutRefused(_code_of(said))  # of a file that is not there, or may not be taken away: refused


def host_keys(host: str, port: int, rules: Rules, *, seconds: int = _SCAN_SECONDS) -> list[HostKey]:
    """Ask a server for its host keys, the one to agree on first.  Nothing says yet that they are the server's.

    Raises:
        PutRefused: nobody answers there who speaks SSH.
    """
    address = _reachable(host, port, rules, seconds)
    argv = [_program("ssh-keyscan"), "-T", str(seconds), "-p", str(port), "--", address]
    try:
        done = subprocess.run(  # noqa: S603  # no shell; the address is one
            argv, check=False, capture_output=True, timeout=3 * seconds, env=_environment()
        )
    except subprocess.TimeoutExpired:
        raise PutRefused(PutCode.TIMED_OUT) from None
    found = []
    for line in done.stdout[:_MOST_SAID].decode("ascii", "replace").splitlines():
        with suppress(BadKey):
            found.append(host_key(line.partition(" ")[2]))
    if not found:
        raise PutRefused(PutCode.UNREACHABLE)
    return sorted(found, key=lambda one: list(SIGNATURES).index(one.type))


class _Session:
    """Runs of sftp towards one server, each a connection of its own, all together within the time for the whole."""

    def __init__(self, server: Server, workshop: Path) -> None:
        if not server.host_key:
            raise PutRefused(PutCode.NO_HOST_KEY)
        self._server, self._workshop = server, workshop
        self._until = time.monotonic() + server.limits.whole
        self._program = _program("sftp")
        self._address = _reachable(server.host, server.port, server.rules, server.limits.connect)
        _write(workshop / "known_hosts", f"{_ALIAS} {server.host_key}\n")
        if server.private_key:
            _write(workshop / "key", server.private_key)

    def remote(self, name: str) -> str:
        """Write a name in the folder as sftp reads it; in quotes, so that wildcards follow behind it alone."""
        folder = self._server.folder
        if folder == "/":
            return f'"/{name}"'
        if not folder.startswith("/"):
            folder = f"./{folder}".rstrip("/")
        return f'"{folder}/{name}"'

    def run(self, commands: list[str]) -> str | None:
        """Have commands done, up to the first that fails; None: all are.  Otherwise what was said about it.

        Raises:
            PutRefused: the time is over, or the program was ended by others.
        """
        batch = self._workshop / "batch"
        batch.write_text("".join(f"{command}\n" for command in commands))
        argv = [self._program, *self._options(), "-b", str(batch), "--", f"[{self._address}]"]
        process = subprocess.Popen(  # noqa: S603  # no shell; options are ours
            argv,
            cwd=self._workshop,
            env=_environment() | self._secret(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        said = bytearray()
        listener = threading.Thread(target=_listen, args=(process, said), daemon=True)
        listener.start()
        try:
            process.wait(self._until - time.monotonic())
        except subprocess.TimeoutExpired:
            raise PutRefused(PutCode.TIMED_OUT) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # ssh, too
            process.wait()
            listener.join()
        if process.returncode < 0:  # somebody ended it, as systems do that are short of memory
            raise PutRefused(PutCode.BUSY)
        return _of_failure(said.decode("utf-8", "replace")) if process.returncode else None

    def _options(self) -> list[str]:
        server, limits = self._server, self._server.limits
        known = SIGNATURES[server.host_key.partition(" ")[0]]
        options = {
            "BatchMode": "no" if server.password else "yes",  # "yes" would not even ask SSH_ASKPASS
            "User": server.username,
            "Port": str(server.port),
            "HostKeyAlias": _ALIAS,
            "HostKeyAlgorithms": known,
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": "known_hosts",
            "GlobalKnownHostsFile": "/dev/null",
            "UpdateHostKeys": "no",
            "CheckHostIP": "no",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": "key" if server.private_key else "none",
            "PreferredAuthentications": "publickey" if server.private_key else "password,keyboard-interactive",
            "NumberOfPasswordPrompts": "1",
            "ConnectTimeout": str(max(1, round(limits.connect))),
            "ConnectionAttempts": "1",
            "ServerAliveInterval": str(max(1, round(limits.read / _SIGNS_OF_LIFE))),
            "ServerAliveCountMax": str(_SIGNS_OF_LIFE),
            "ControlMaster": "no",
            "ControlPath": "none",
            "ForwardAgent": "no",
            "PermitLocalCommand": "no",
            "LogLevel": "INFO",  # at "ERROR" some of the endings are not told
        }
        return ["-F", "/dev/null", *(f"-o{name}={value}" for name, value in options.items())]

    def _secret(self) -> dict[str, str]:
        if not self._server.password:
            return {}
        return {
            "SSH_ASKPASS": str(_ASKPASS),
            "SSH_ASKPASS_REQUIRE": "force",
            "CARELANE_PASSWORD": self._server.password,
        }


def _listen(process: "subprocess.Popen[bytes]", said: bytearray) -> None:
    """Read all that is said, and keep the beginning."""
    assert process.stderr is not None  # noqa: S101  # it is a pipe
    while piece := process.stderr.read1(4_096):  # type: ignore[attr-defined]  # BufferedReader, which typeshed hides
        said += piece[: _MOST_SAID - len(said)]
    process.stderr.close()


def _code_of(said: str) -> PutCode:
    return next((code for text, code in _SAID if text in said), PutCode.REFUSED)


def _of_failure(said: str) -> str:
    """Leave out what was said of what may fail: files that were to be taken away, and are not there."""
    return "\n".join(line for line in said.splitlines() if not line.startswith(_UNIMPORTANT))


def _reachable(host: str, port: int, rules: Rules, seconds: float) -> str:
    """Find an address of a host that answers, of those that are allowed; each has its share of the time that is left.

    Raises:
        PutRefused: there is none.
    """
    try:
        check_host(host, rules)
        found = allowed_addresses(host, port, rules)
    except (BadUrl, Blocked):
        raise PutRefused(PutCode.ADDRESS_REFUSED) from None
    except NameUnknown:
        raise PutRefused(PutCode.NAME_UNKNOWN) from None
    code, until = PutCode.UNREACHABLE, time.monotonic() + seconds
    addresses = list(dict.fromkeys(found))[:_MOST_ADDRESSES]
    for number, address in enumerate(addresses):
        share = max(0.1, (until - time.monotonic()) / (len(addresses) - number))
        try:
            socket.create_connection((address, port), timeout=share).close()
        except TimeoutError:
            code = PutCode.TIMED_OUT
        except OSError:
            code = PutCode.UNREACHABLE
        else:
            return address
    raise PutRefused(code)


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise PutRefused(PutCode.NO_PROGRAM)
    return found


def _write(place: Path, text: str) -> None:
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
