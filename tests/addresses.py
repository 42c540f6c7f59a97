"""Addresses of databases, for what speaks to PostgreSQL without Django."""

import environ
from psycopg.conninfo import make_conninfo


def conninfo(url: str) -> str:
    """Say a DATABASE_URL in libpq's words, which read no folder of a socket from a URL."""
    parts = environ.Env.db_url_config(url)
    known = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}
    return make_conninfo(**{word: parts[key] for word, key in known.items() if parts.get(key)})
