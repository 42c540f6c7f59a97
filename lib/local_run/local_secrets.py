"""Secrets of one checkout, generated once, so that trying out the service needs no keys."""

import base64
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

MADE: Final[Mapping[str, Callable[[], str]]] = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(64),
    "ENCRYPTION_KEYS": lambda: "k1:" + base64.b64encode(secrets.token_bytes(32)).decode(),
    "INDEX_KEY": lambda: secrets.token_urlsafe(48),
    "TOKEN_PEPPERS": lambda: "p1:" + secrets.token_urlsafe(48),
    "CURSOR_KEY": lambda: secrets.token_urlsafe(48),
}


def load(path: Path) -> tuple[bool, dict[str, str]]:
    """Return the secrets in `path`, generating missing ones; the first value is whether any was missing."""
    stored: dict[str, str] = {}
    if path.exists():
        pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
        stored = {name: value for name, value in pairs if name in MADE}
    missing = {name: make() for name, make in MADE.items() if not stored.get(name)}
    if missing:
        _write(path, stored | missing)
    return bool(missing), stored | missing


def _write(path: Path, values: Mapping[str, str]) -> None:
    """Replace `path` atomically; only its owner can read it, from the first byte on."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())
    fresh.replace(path)
