"""Validators of settings: each function returns the value, or stops the start with a message of one line.

Messages never contain the value, because it may be a secret.
"""

import base64
import binascii
import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

import phonenumbers
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}
POSTGRESQL: Final = "django.db.backends.postgresql"
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
BROKERS: Final = ("amqp", "amqps", "redis", "rediss", "filesystem")


def secret(name: str, value: str, *, at_least: int) -> str:
    """Check that `value` is long enough and has at least 5 different characters."""
    if len(value) < at_least or len(set(value)) < 5 or value.startswith("django-insecure-"):
        raise ImproperlyConfigured(f"{name} has to be at least {at_least} characters of randomness.")
    return value


def between(env: Any, name: str, default: int, least: int, most: int) -> int:
    """Read an integer, and check that it is from `least` to `most`."""
    value: int = env.int(name, default=default)
    if not least <= value <= most:
        raise ImproperlyConfigured(f"{name} has to be {least} to {most}.")
    return value


def clock_hours(name: str, value: int) -> int:
    """Check that the clock has 12 or 24 hours."""
    if value not in (12, 24):
        raise ImproperlyConfigured(f"{name} has to be 12 or 24.")
    return value


def ride_term(name: str, value: str) -> str:
    """Check the word for a ride."""
    if value not in ("ride", "trip"):
        raise ImproperlyConfigured(f"{name} has to be ride or trip.")
    return value


def phone_region(name: str, value: str) -> str:
    """Check the default region of phone numbers (ISO 3166-1, two letters)."""
    if value not in phonenumbers.SUPPORTED_REGIONS:
        raise ImproperlyConfigured(f"{name} has to be two letters of ISO 3166-1, such as US.")
    return value


def passphrase(name: str, value: str) -> str:
    """Check a passphrase that people may have to type; "" for none."""
    return secret(name, value, at_least=20) if value else value


def folder(name: str, value: str) -> str:
    """Check the path of a folder: absolute, because the working directory of the service is not known; "" for none."""
    if value and not value.startswith("/"):
        raise ImproperlyConfigured(f"{name} has to be a path that begins with /.")
    return value


def area(name: str, value: list[float]) -> list[float]:
    """Check a circle: latitude, longitude and radius in miles; [] for none."""
    if len(value) not in (0, 3):
        raise ImproperlyConfigured(f"{name} has to be latitude,longitude,miles.")
    return value


def base_url(value: str) -> str:
    """Check the public URL: https, or http on localhost, which browsers trust as well."""
    url = urlsplit(value)
    plain_but_local = url.scheme == "http" and url.hostname in LOOPBACK
    if not url.hostname or not (url.scheme == "https" or plain_but_local):
        raise ImproperlyConfigured("BASE_URL has to be an https:// address, or http:// on localhost.")
    if url.path.strip("/") or url.query or url.fragment or url.username:
        raise ImproperlyConfigured("BASE_URL has to be a scheme, a host and perhaps a port, nothing more.")
    return value.rstrip("/")


def sealing_keys(name: str, entries: list[str]) -> list[str]:
    """Check `id:base64 of 32 bytes` entries, newest first."""
    for encoded in _ring(name, entries):
        try:
            size = len(base64.b64decode(encoded, validate=True))
        except binascii.Error:
            size = 0
        if size != 32:
            raise ImproperlyConfigured(f"{name} has to be a list of id:key, each key 32 bytes in base64.")
    return entries


def peppers(name: str, entries: list[str]) -> list[str]:
    """Check `id:secret` entries, newest first."""
    for value in _ring(name, entries):
        secret(name, value, at_least=32)
    return entries


def database(parsed: dict[str, Any], *, name: str = "DATABASE_URL") -> dict[str, Any]:
    """Check the parsed URL of a database."""
    if parsed["ENGINE"] != POSTGRESQL or not parsed["NAME"]:
        raise ImproperlyConfigured(f"{name} has to be postgres://user:password@host:port/database.")
    return parsed


def broker(url: str) -> str:
    """Check the scheme of BROKER_URL."""
    if urlsplit(url).scheme not in BROKERS:
        raise ImproperlyConfigured(f"BROKER_URL has to start with one of: {', '.join(BROKERS)}.")
    return url


def cache(url: str) -> str:
    """Check the scheme of CACHE_URL; "" means a table of the database."""
    if url and urlsplit(url).scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured("CACHE_URL has to start with redis://, rediss:// or unix://.")
    return url


def networks(name: str, entries: list[str]) -> tuple[Network, ...]:
    """Parse addresses and networks in CIDR notation."""
    try:
        return tuple(ipaddress.ip_network(entry) for entry in entries)
    except ValueError:
        raise ImproperlyConfigured(f"{name} has to be a list of networks such as 10.20.0.0/16.") from None


def mail_addresses(name: str, entries: list[str]) -> list[str]:
    """Check mail addresses without display names."""
    addresses = [entry.strip() for entry in entries]
    try:
        for address in addresses:
            validate_email(address)
    except ValidationError:
        raise ImproperlyConfigured(f"{name} has to be a list of addresses such as pager@example.org.") from None
    return addresses


def _ring(name: str, entries: list[str]) -> list[str]:
    ids, colons, values = zip(*(entry.partition(":") for entry in entries), strict=True) if entries else ((), (), ())
    if not entries or not all(ids) or not all(colons) or len(set(ids)) < len(ids):
        raise ImproperlyConfigured(f"{name} has to be a list of id:value, each id once, the newest first.")
    return list(values)
