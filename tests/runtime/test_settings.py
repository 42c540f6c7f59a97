"""Settings loaded in a separate process: the operator sees the last line of its output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHOW = "from config import settings as s; import json; print(json.dumps({n: getattr(s, n) for n in %r}, default=str))"


def _production() -> dict[str, str]:
    lines = (ROOT / "tests" / "production.env").read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    return {"PATH": os.environ["PATH"], "DATABASE_URL": "postgres://carelane@db.example.org/carelane", **found}


def _load(environment: dict[str, str], *names: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", SHOW % (names,)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name", ["SECRET_KEY", "BASE_URL", "DATABASE_URL", "ENCRYPTION_KEYS", "INDEX_KEY", "TOKEN_PEPPERS"]
)
def test_settings_do_not_load_without(name: str) -> None:
    environment = _production()
    del environment[name]

    done = _load(environment)

    assert done.returncode == 1
    assert name in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", "short"),
        ("SECRET_KEY", "x" * 60),
        ("SECRET_KEY", "django-insecure-abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz"),
        ("BASE_URL", "http://rides.example.org"),
        ("BASE_URL", "https://rides.example.org/carelane"),
        ("BASE_URL", "rides.example.org"),
        ("DEBUG", "true"),
        ("DATABASE_URL", "sqlite:///carelane.db"),
        ("DATABASE_URL", "postgres://carelane@db.example.org"),
        ("BROKER_URL", "memory://"),
        ("CACHE_URL", "locmem://"),
        ("ENCRYPTION_KEYS", "k1:c2hvcnQ="),
        ("ENCRYPTION_KEYS", "k1:not base64"),
        ("ENCRYPTION_KEYS", ""),
        ("INDEX_KEY", "short"),
        ("TOKEN_PEPPERS", "p1:short"),
        ("TOKEN_PEPPERS", "no-colon-0123456789-0123456789-0123456789"),
        ("TOKEN_PEPPERS", "p1:abcdefghijklmnopqrstuvwxyz0123456789,p1:zyxwvutsrqponmlkjihgfedcba9876543210"),
        ("CURSOR_KEY", "short"),
        ("ALERT_EMAILS", "pager@example.org,pager"),
        ("ALERT_EMAILS", "Pager <pager@example.org>"),
        ("SESSION_IDLE_MINUTES", "1"),
        ("SESSION_IDLE_MINUTES", "61"),
        ("CLOCK_HOURS", "13"),
        ("PHONE_REGION", "usa"),
        ("SERVICE_AREA", "41.9,-87.6"),
        ("DOWNTIME_PASSPHRASE", "hospital"),
        ("DOWNTIME_DIR", "downtime"),
        ("DOWNTIME_COPY_DIR", "mnt/share"),
    ],
)
def test_settings_refuse_an_unsafe_value_without_repeating_it(name: str, value: str) -> None:
    done = _load(_production() | {name: value})

    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("django.core.exceptions.ImproperlyConfigured: ")
    assert name in last
    assert not value or value not in last


def test_command_line_says_in_one_line_which_setting_is_missing() -> None:
    environment = _production()
    del environment["SECRET_KEY"]
    command = [sys.executable, "manage.py", "check"]

    plain = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    at_length = subprocess.run(
        [*command, "--traceback"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert (plain.returncode, plain.stderr) == (1, "Set the SECRET_KEY environment variable\n")
    assert at_length.returncode == 1
    assert at_length.stderr.startswith("Traceback")


def test_settings_take_a_secret_from_a_file(tmp_path: Path) -> None:
    environment = _production()
    (tmp_path / "key").write_text(environment.pop("SECRET_KEY"))
    environment["SECRET_KEY_FILE"] = str(tmp_path / "key")

    done = _load(environment, "SECRET_KEY")

    assert done.stdout == json.dumps({"SECRET_KEY": _production()["SECRET_KEY"]}) + "\n"


def test_database_options_of_the_address_stand_beside_ours() -> None:
    url = "postgres://carelane@db.example.org/carelane?sslmode=verify-full"
    show = "from config.settings import DATABASES as d; o = d['default']['OPTIONS']; print(o['sslmode'], *sorted(o))"

    done = subprocess.run(
        [sys.executable, "-c", show],
        cwd=ROOT,
        env=_production() | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "verify-full options pool sslmode\n"


def test_revoked_token_passes_for_five_seconds_at_most() -> None:
    assert _load(_production(), "API_TOKEN_CACHE_SECONDS").stdout == '{"API_TOKEN_CACHE_SECONDS": 5}\n'


NAMES = ("SESSION_COOKIE_SECURE", "SESSION_COOKIE_NAME", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS", "MFA_REQUIRED")


def test_https_address_makes_cookies_secure() -> None:
    done = _load(_production(), *NAMES)

    assert done.stdout == (
        '{"SESSION_COOKIE_SECURE": true, "SESSION_COOKIE_NAME": "__Host-session", "SECURE_SSL_REDIRECT": true, '
        '"SECURE_HSTS_SECONDS": 31536000, "MFA_REQUIRED": true}\n'
    )


def test_plain_local_http_works_without_demo_mode_and_keeps_2fa() -> None:
    done = _load(_production() | {"BASE_URL": "http://localhost:8000"}, *NAMES)

    assert done.stdout == (
        '{"SESSION_COOKIE_SECURE": false, "SESSION_COOKIE_NAME": "carelane_session", "SECURE_SSL_REDIRECT": false, '
        '"SECURE_HSTS_SECONDS": 0, "MFA_REQUIRED": true}\n'
    )
