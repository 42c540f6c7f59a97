"""SFTP uploads: files arrive complete or not at all, and only at the server with the pinned host key."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import asyncssh
import pytest
from asyncssh.sftp import SFTPServerHandler

from apps.exports.destinations import sftp, ssh_keys
from apps.exports.destinations.errors import Limits, UploadError, UploadErrorCode
from lib.outbound import Rules
from tests.exports.destinations import servers
from tests.exports.destinations.servers import INSIDE, Listening, Sftp

pytestmark = pytest.mark.real_clock

NAME = "carelane_completions_2026-11-19.csv"
SHORT = Limits(connect=2, read=2, total=3)


class Full(Sftp):
    """Accepts 100,000 bytes of a file."""

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        if offset > 100_000:
            raise asyncssh.SFTPFailure("disk full")
        return super().write(file_obj, offset, data)  # type: ignore[return-value]  # asyncssh allows both


class HangsUp(Sftp):
    """Closes the connection after 100,000 bytes of a file, the first time."""

    gone = 0

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        if offset > 100_000 and not HangsUp.gone:
            HangsUp.gone += 1
            self.channel.get_connection().abort()
        return super().write(file_obj, offset, data)  # type: ignore[return-value]  # asyncssh allows both


class Waits(Sftp):
    """Never acknowledges data."""

    begun = threading.Event()

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        Waits.begun.set()
        await asyncio.sleep(60)
        return 0


class BlockingSftp(Sftp):
    """Does not acknowledge the data of the first file until it is released."""

    release = threading.Event()
    first: ClassVar[list[str]] = []

    async def write(self, file_obj: Any, offset: int, data: bytes) -> int:
        if not BlockingSftp.first:
            BlockingSftp.first.append(file_obj.name)
        while file_obj.name == BlockingSftp.first[0] and not BlockingSftp.release.is_set():
            await asyncio.sleep(0.01)
        return super().write(file_obj, offset, data)  # type: ignore[return-value]  # asyncssh allows both


# A separate worker that uploads an older file under the same name.
_WORKER = """
import io, sys
from pathlib import Path
from tests import environment
import django
django.setup()
from apps.exports.destinations import sftp
from tests.exports.destinations.servers import Listening
port, key, root = sys.argv[1:]
server = Listening(int(port), key, Path(root)).server()
sftp.upload(server, io.BytesIO(b"older" * 100_000), "carelane_completions_2026-11-19.csv")
"""


class NoRename(Sftp):
    """Refuses every rename."""

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        raise asyncssh.SFTPPermissionDenied("no")

    def rename(self, oldpath: bytes, newpath: bytes) -> None:
        raise asyncssh.SFTPPermissionDenied("no")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def listening(root: Path) -> Iterator[Listening]:
    with servers.sftp(root) as found:
        yield found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "odd 'name\" *.csv"
    path.write_bytes(os.urandom(700_000))
    return path


def _upload(server: sftp.Server, path: Path, name: str = NAME) -> None:
    with path.open("rb") as file:
        sftp.upload(server, file, name)


def _refused(server: sftp.Server, path: Path) -> UploadErrorCode:
    with pytest.raises(UploadError) as refusal:
        _upload(server, path)
    return refusal.value.code


@pytest.mark.parametrize("folder", ["", "/", "claims", "drop box/-x", "/drop box/-x", "a=b,c/@d+e"])
def test_file_arrives_in_the_folder_under_its_name_alone(listening: Listening, file: Path, folder: str) -> None:
    (listening.root / folder.strip("/")).mkdir(parents=True, exist_ok=True)

    _upload(listening.server(folder=folder), file)

    assert listening.there() == {f"{folder.strip('/')}/{NAME}".lstrip("/"): file.read_bytes()}


def test_file_takes_the_place_of_one_of_its_name(listening: Listening, file: Path) -> None:
    (listening.root / NAME).write_bytes(b"older")

    _upload(listening.server(), file)

    assert listening.there() == {NAME: file.read_bytes()}


def test_file_is_replaced_where_server_has_plain_rename_only(
    listening: Listening, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [one for one in SFTPServerHandler._extensions if not one[0].startswith((b"posix-rename", b"fsync"))]
    monkeypatch.setattr(SFTPServerHandler, "_extensions", known)
    (listening.root / NAME).write_bytes(b"older")

    _upload(listening.server(), file)

    assert listening.there() == {NAME: file.read_bytes()}


def test_empty_file_arrives(listening: Listening, file: Path) -> None:
    file.write_bytes(b"")

    _upload(listening.server(), file)

    assert listening.there() == {NAME: b""}


def test_server_may_know_us_by_a_key(root: Path, file: Path) -> None:
    private = ssh_keys.new_private_key()
    with servers.sftp(root, authorized=ssh_keys.public_line(private, "carelane")) as listening:
        _upload(listening.server(private_key=private), file)
        other = _refused(listening.server(private_key=ssh_keys.new_private_key()), file)

    assert (listening.there(), other) == ({NAME: file.read_bytes()}, UploadErrorCode.NOT_AUTHORIZED)


def test_no_agent_and_no_configuration_of_the_account_is_read(
    listening: Listening, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()
        agent.setblocking(False)

        _upload(listening.server(), file)

        with pytest.raises(BlockingIOError):
            agent.accept()
    assert [path for path in opened if "/.ssh" in path or "ssh_config" in path] == []
    assert servers.PASSWORD not in repr(listening.server())


def test_wrong_password_is_told(listening: Listening, file: Path) -> None:
    assert _refused(listening.server(password="wrong"), file) == UploadErrorCode.NOT_AUTHORIZED
    assert listening.there() == {}


def test_another_host_key_is_told_and_nothing_is_put_there(root: Path, file: Path) -> None:
    with servers.sftp(root) as listening:
        agreed = ssh_keys.public_line(ssh_keys.new_private_key(), "")
        code = _refused(listening.server(host_key=agreed.strip()), file)
    with servers.sftp(root, key=asyncssh.generate_private_key("ecdsa-sha2-nistp256")) as other:
        of_another_type = _refused(other.server(host_key=agreed.strip()), file)

    assert (code, of_another_type) == (UploadErrorCode.HOST_KEY_CHANGED, UploadErrorCode.HOST_KEY_CHANGED)
    assert listening.there() == {}


def test_changed_host_key_is_reported_even_if_login_would_pass(root: Path, file: Path) -> None:
    private = ssh_keys.new_private_key()
    agreed = ssh_keys.public_line(ssh_keys.new_private_key(), "").strip()
    with servers.sftp(root, authorized=ssh_keys.public_line(private, "carelane")) as listening:
        code = _refused(listening.server(host_key=agreed, private_key=private), file)

    assert (code, listening.there()) == (UploadErrorCode.HOST_KEY_CHANGED, {})


def test_without_a_host_key_nobody_is_asked(listening: Listening, file: Path) -> None:
    assert _refused(listening.server(host_key=""), file) == UploadErrorCode.NO_HOST_KEY


def test_folder_that_is_not_there_is_told(listening: Listening, file: Path) -> None:
    assert _refused(listening.server(folder="nowhere"), file) == UploadErrorCode.NO_SUCH_FOLDER


def test_full_disk_is_told_and_nothing_is_left(root: Path, file: Path) -> None:
    with servers.sftp(root, answers=Full) as listening:
        code = _refused(listening.server(), file)

    assert (code, listening.there()) == (UploadErrorCode.NO_SPACE, {})


def test_full_disk_preserves_older_file_in_any_folder(root: Path, file: Path) -> None:
    (root / "renamed").mkdir()
    (root / "renamed" / NAME).write_bytes(b"older")
    with servers.sftp(root, answers=Full) as listening:
        code = _refused(listening.server(folder="renamed"), file)

    assert (code, (root / "renamed" / NAME).read_bytes()) == (UploadErrorCode.NO_SPACE, b"older")


def test_server_that_lets_nothing_be_renamed_is_told(root: Path, file: Path) -> None:
    with servers.sftp(root, answers=NoRename) as listening:
        assert _refused(listening.server(), file) == UploadErrorCode.NOT_AUTHORIZED
        assert NAME not in listening.there()


def test_lost_connection_leaves_no_file_and_retry_cleans_up(root: Path, file: Path) -> None:
    HangsUp.gone = 0
    with servers.sftp(root, answers=HangsUp) as listening:
        code = _refused(listening.server(), file)
        half = listening.there()
        _upload(listening.server(), file)

    assert code == UploadErrorCode.UNREACHABLE
    assert [name.startswith(f".{NAME}.") for name in half] == [True]
    assert listening.there() == {NAME: file.read_bytes()}


def test_killed_worker_leaves_no_file_and_next_upload_cleans_up(root: Path, file: Path) -> None:
    BlockingSftp.release.clear()
    BlockingSftp.first.clear()
    with servers.sftp(root, answers=BlockingSftp) as listening:
        worker = subprocess.Popen([sys.executable, "-c", _WORKER, str(listening.port), listening.host_key, str(root)])
        _wait_for(lambda: BlockingSftp.first)
        worker.kill()
        worker.wait()
        half = listening.there()

        _upload(listening.server(), file)
        BlockingSftp.release.set()

        assert [name.endswith(".part") for name in half] == [True]
        assert listening.there() == {NAME: file.read_bytes()}


def test_orphaned_upload_cannot_replace_a_newer_file(root: Path, file: Path) -> None:
    BlockingSftp.release.clear()
    BlockingSftp.first.clear()
    with servers.sftp(root, answers=BlockingSftp) as listening:
        codes: list[UploadErrorCode] = []
        older = file.with_name("older")
        older.write_bytes(b"older" * 100_000)
        orphan = threading.Thread(target=lambda: codes.append(_refused(listening.server(), older)))
        orphan.start()
        _wait_for(lambda: BlockingSftp.first)

        _upload(listening.server(), file)
        BlockingSftp.release.set()
        orphan.join(20)

        assert codes == [UploadErrorCode.NO_SUCH_FOLDER]
        assert listening.there() == {NAME: file.read_bytes()}


def test_files_of_others_are_left_alone(root: Path, file: Path) -> None:
    with servers.sftp(root) as listening:
        (root / f".{NAME}.0123abcd.part").write_bytes(b"half")
        (root / f".{NAME}.of.others.part").write_bytes(b"theirs")

        _upload(listening.server(), file)

    assert set(listening.there()) == {NAME, f".{NAME}.of.others.part"}


def test_server_that_hangs_is_given_up_in_time(root: Path, file: Path) -> None:
    with servers.sftp(root, answers=Waits) as listening:
        begun = time.monotonic()
        code = _refused(listening.server(limits=SHORT), file)

        assert (code, time.monotonic() - begun < 10) == (UploadErrorCode.TIMED_OUT, True)


def test_server_that_says_nothing_at_all_is_given_up_in_time(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = Listening(silent.getsockname()[1], ssh_keys.public_line(ssh_keys.new_private_key(), "").strip(), file)
        assert _refused(server.server(limits=SHORT), file) == UploadErrorCode.TIMED_OUT


def test_port_where_nobody_listens_is_told(file: Path, listening: Listening) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert _refused(listening.server(port=port), file) == UploadErrorCode.UNREACHABLE


def test_host_that_does_not_answer_is_told(listening: Listening, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*given: Any, **more: Any) -> Any:
        raise TimeoutError

    monkeypatch.setattr("apps.exports.destinations.sftp.socket.create_connection", wait)

    assert _refused(listening.server(), file) == UploadErrorCode.TIMED_OUT


@pytest.mark.parametrize("address", ["169.254.169.254", "10.0.0.8", "127.0.0.1", "::1", "100.100.100.200"])
def test_hosts_resolving_inside_are_refused_before_sending(
    listening: Listening, file: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("lib.outbound.addresses_of", lambda host, port: ["93.184.216.34", address])
    rules = Rules(networks=INSIDE.networks) if address == "169.254.169.254" else Rules()

    code = _refused(listening.server(host="sftp.example.org", rules=rules), file)

    assert (code, listening.there()) == (UploadErrorCode.ADDRESS_REFUSED, {})


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "-oProxyCommand=x", "a b", "0x7f.1"])
def test_hosts_that_are_no_public_names_are_refused(listening: Listening, file: Path, host: str) -> None:
    assert _refused(listening.server(host=host, rules=Rules()), file) == UploadErrorCode.ADDRESS_REFUSED


def test_name_that_does_not_resolve_is_told(listening: Listening, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: Any) -> Any:
        raise socket.gaierror

    monkeypatch.setattr("lib.outbound.addresses_of", unknown)

    assert _refused(listening.server(host="nowhere.example.org"), file) == UploadErrorCode.NAME_UNKNOWN


def test_connection_uses_the_address_that_was_checked(
    listening: Listening, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr("lib.outbound.addresses_of", look_up)

    _upload(listening.server(host="sftp.example.org"), file)

    assert (asked, set(listening.there())) == (["sftp.example.org"], {NAME})


def test_addresses_of_one_name_share_the_time_to_connect(
    listening: Listening, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner of a name may resolve it to any number of addresses that do not answer."""
    clock, asked = [100.0], []

    def wait(address: tuple[str, int], timeout: float) -> None:
        asked.append(timeout)
        clock[0] += timeout
        raise TimeoutError

    monkeypatch.setattr("lib.outbound.addresses_of", lambda host, port: [f"127.0.0.{n}" for n in range(1, 41)])
    monkeypatch.setattr("apps.exports.destinations.sftp.socket.create_connection", wait)
    monkeypatch.setattr("apps.exports.destinations.sftp.time.monotonic", lambda: clock[0])

    server = listening.server(host="sftp.example.org", limits=Limits(connect=8))

    assert _refused(server, file) == UploadErrorCode.TIMED_OUT
    assert asked == pytest.approx([2, 2, 2, 2])


def test_name_that_is_not_allowed_is_an_error(listening: Listening, file: Path) -> None:
    with pytest.raises(ValueError, match="name of a file"):
        _upload(listening.server(), file, "../x")


def test_file_is_taken_away(listening: Listening) -> None:
    (listening.root / NAME).write_bytes(b"x")

    sftp.remove(listening.server(), NAME)
    with pytest.raises(UploadError) as refusal:
        sftp.remove(listening.server(), NAME)

    assert (listening.there(), refusal.value.code) == ({}, UploadErrorCode.REFUSED)


def test_host_keys_are_told_as_the_server_has_them(listening: Listening) -> None:
    assert list(map(str, sftp.host_keys("127.0.0.1", listening.port, INSIDE, seconds=3))) == [listening.host_key]


def test_host_keys_of_all_types_are_read_the_preferred_one_first(root: Path) -> None:
    keys = [asyncssh.generate_private_key(kind) for kind in ("ssh-rsa", "ecdsa-sha2-nistp256", "ssh-ed25519")]
    with servers.sftp(root, key=keys) as listening:
        found = sftp.host_keys("127.0.0.1", listening.port, INSIDE)

    assert [key.type for key in found] == ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"]
    assert {str(key) for key in found} == {servers.public_line(key) for key in keys}


@pytest.mark.parametrize("agreed", [0, 1])
def test_server_with_several_host_keys_is_known_by_any_of_them(root: Path, file: Path, agreed: int) -> None:
    keys = [asyncssh.generate_private_key(kind) for kind in ("ssh-rsa", "ssh-ed25519")]
    with servers.sftp(root, key=keys) as listening:
        _upload(listening.server(host_key=servers.public_line(keys[agreed])), file)

    assert listening.there() == {NAME: file.read_bytes()}


def test_server_that_speaks_no_ssh_has_no_host_keys() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(UploadError) as late:
            sftp.host_keys("127.0.0.1", port, INSIDE, seconds=1)

        def greet() -> None:
            connection, _ = silent.accept()  # of the attempt above
            connection.close()
            connection, _ = silent.accept()
            connection.sendall(b"220 ftp.example.org ready\r\n" * 200)
            connection.close()

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        with pytest.raises(UploadError) as refusal:
            sftp.host_keys("127.0.0.1", port, INSIDE, seconds=5)
        thread.join(10)

    assert (late.value.code, refusal.value.code) == (UploadErrorCode.TIMED_OUT, UploadErrorCode.UNREACHABLE)


def _wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + 30
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)
