"""Tell by the exit status whether the PostgreSQL at an address lets us in and is new enough for the service."""

import sys

import psycopg

OLDEST = 150_000  # server_version_num of PostgreSQL 15

try:
    with psycopg.connect(sys.argv[1], connect_timeout=3) as connection:
        sys.exit(connection.info.server_version < OLDEST)
except psycopg.OperationalError:
    sys.exit(1)
