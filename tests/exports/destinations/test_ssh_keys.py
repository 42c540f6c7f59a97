"""SSH keys: parsed strictly, with fingerprints as OpenSSH shows them."""

import asyncssh
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from apps.exports.destinations import ssh_keys
from apps.exports.destinations.ssh_keys import BadKey

_HOST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmwm0lrV6v4oe/QXajrYz83drreKabLmpIkrQD0Rp+x"
_PEM = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
def test_fingerprint_is_the_one_that_ssh_programs_show(kind: str) -> None:
    key = asyncssh.generate_private_key(kind)
    line = " ".join(key.export_public_key().decode().split()[:2])

    assert ssh_keys.host_key(f"{line} comment").fingerprint == key.get_fingerprint()
    assert str(ssh_keys.host_key(f" {line} comment\n")) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 !!!",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA",
        "ssh-dss AAAAB3NzaC1kc3MAAACB",
        f"{_HOST}\n{_HOST}",
        f"ssh-rsa {_HOST.split()[1]}",
        f"@cert-authority {_HOST}",
    ],
)
def test_what_is_no_host_key_is_refused(text: str) -> None:
    with pytest.raises(BadKey):
        ssh_keys.host_key(text)


@pytest.mark.parametrize(
    "key",
    [
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
        rsa.generate_private_key(65537, 2048),
    ],
    ids=["ed25519", "ecdsa", "rsa"],
)
@pytest.mark.parametrize("form", [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.OpenSSH])
def test_private_keys_are_kept_as_openssh_writes_them(key: ed25519.Ed25519PrivateKey, form: object) -> None:
    given = key.private_bytes(_PEM[0], form, serialization.NoEncryption()).decode()  # type: ignore[arg-type]  # wider at run time than in the stubs

    kept = ssh_keys.private_key(f"\r\n{given}\n\n")

    assert kept.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert ssh_keys.public_line(kept, "carelane") == f"{public.decode()} carelane"


def test_private_keys_with_a_passphrase_are_told_apart() -> None:
    openssh = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh", "passphrase").decode()
    locked = serialization.BestAvailableEncryption(b"passphrase")
    pem = ed25519.Ed25519PrivateKey.generate().private_bytes(*_PEM, locked).decode()

    for text in (openssh, pem):
        with pytest.raises(BadKey) as refusal:
            ssh_keys.private_key(text)
        assert refusal.value.locked


@pytest.mark.parametrize("text", ["", "hunter2", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", _HOST])
def test_what_is_no_private_key_is_refused(text: str) -> None:
    with pytest.raises(BadKey) as refusal:
        ssh_keys.private_key(text)
    assert not refusal.value.locked


def test_new_keys_are_keys() -> None:
    made = ssh_keys.new_private_key()

    assert ssh_keys.private_key(made).splitlines()[0] == made.splitlines()[0]
    assert ssh_keys.public_line(made, "carelane").startswith("ssh-ed25519 ")
