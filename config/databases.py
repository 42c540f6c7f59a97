"""The databases: the primary, and a replica of it for reports and exports if the operator has one."""

from typing import Any, Final

from config import setting_validators
from lib.replica import REPLICA

_SESSION: Final = " ".join(
    (
        "-c timezone=UTC",
        "-c statement_timeout=10s",
        "-c lock_timeout=5s",
        # A stuck session in a transaction would delay the event feed.
        "-c idle_in_transaction_session_timeout=30s",
    )
)


def of(env: Any, *, pool_size: int) -> dict[str, dict[str, Any]]:
    """Read DATABASE_URL, and REPLICA_URL if it is set."""
    databases = {"default": _database(setting_validators.database(env.db_url("DATABASE_URL")), pool_size)}
    if env.str("REPLICA_URL", default=""):
        copy = setting_validators.database(env.db_url("REPLICA_URL"), name="REPLICA_URL")
        databases[REPLICA] = _database(copy, pool_size) | {"TEST": {"MIRROR": "default"}}
    return databases


def _database(named: dict[str, Any], pool_size: int) -> dict[str, Any]:
    return named | {
        "ENGINE": "django.db.backends.postgresql",
        "ATOMIC_REQUESTS": False,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": named.get("OPTIONS", {})  # from the URL: sslmode, sslrootcert, ...
        | {
            # The threads of a worker share the pool; if it is smaller than their number, they starve.
            "pool": {"min_size": 1, "max_size": pool_size, "timeout": 5},
            "options": _SESSION,
        },
    }
