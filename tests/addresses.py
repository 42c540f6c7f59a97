"""Database addresses for programs that connect to PostgreSQL without Django."""

import environ
from psycopg.conninfo import make_conninfo


def conninfo(url: str) -> str:
    """Return DATABASE_URL as a libpq connection string; libpq reads no socket folder from a URL."""
    parts = environ.Env.db_url_config(url)
    known = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}
    return make_conninfo(**{word: parts[key] for word, key in known.items() if parts.get(key)})
