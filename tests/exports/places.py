"""Rows of export destinations."""

from typing import Any

from apps.exports.models import ExportDestination
from tests.factories import NOW


def bucket(**given: Any) -> ExportDestination:
    """Create a bucket destination, without a real bucket."""
    values = {
        "kind": "s3",
        "sign_in": "secret_key",
        "name": "Claims bucket",
        "endpoint_url": "https://s3.example.org",
        "region": "us-east-1",
        "bucket": "claims",
        "username": "AKEXAMPLE",
    }
    return _made(values | given)


def server(**given: Any) -> ExportDestination:
    """Create a server destination, without a real server."""
    values = {
        "kind": "sftp",
        "sign_in": "password",
        "name": "Payer's drop box",
        "host": "sftp.example.org",
        "port": 22,
        "username": "carelane",
    }
    return _made(values | given)


def _made(values: dict[str, Any]) -> ExportDestination:
    stamps = {"created_by": "system", "created_at": NOW, "updated_at": NOW}
    secret = values.pop("secret", "not to be told")
    made = ExportDestination(**stamps | values)
    made.secret = secret
    made.save(force_insert=True)
    return made
