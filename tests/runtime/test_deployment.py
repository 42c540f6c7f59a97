"""Shipped deployment, as far as it can be tested without containers: roles, checks, settings of the guide."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml

from config.celery import TIMETABLE, app
from lib import embedded_postgres
from lib.embedded_postgres import EmbeddedPostgres
from tests.serving import serving

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    made = EmbeddedPostgres(tmp_path / "postgres", throwaway=True, say=lambda line: None)
    made.start()
    yield made
    made.stop()


def _environment(server: EmbeddedPostgres, role: str) -> dict[str, str]:
    lines = (ROOT / "tests" / "production.env").read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    url = server.url().replace("postgres@", f"{role}@")
    return {"PATH": os.environ["PATH"], "DATABASE_URL": url, **found}


def _manage(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_owner_migrates_and_the_service_role_owns_nothing(server: EmbeddedPostgres) -> None:
    psql = embedded_postgres._programs() / "psql"
    command = [str(psql), "-v", "ON_ERROR_STOP=1", "-q", "-h", str(server.socket_folder), "-U", "postgres"]
    command += ["-d", "carelane", "-f", "deploy/roles.sql"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    migrated = _manage(_environment(server, "carelane_owner"), "migrate", "--noinput", "--verbosity", "0")
    as_owner = _manage(_environment(server, "carelane_owner"), "check", "--deploy", "--database", "default")
    as_role = _manage(
        _environment(server, "carelane"), "check", "--deploy", "--fail-level", "WARNING", "--database", "default"
    )

    assert (migrated.returncode, migrated.stderr) == (0, "")
    assert (as_owner.returncode, "carelane.E003" in as_owner.stderr) == (1, True)
    assert "The service connects" not in as_role.stderr
    assert re.findall(r"\((?:carelane|security|models|fields)\.\w+\)", as_role.stderr) == []
    with psycopg.connect(host=str(server.socket_folder), user="carelane", dbname="carelane") as session:
        assert session.execute("SELECT count(*) FROM organizations_facility").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("ALTER TABLE events_event DISABLE TRIGGER ALL")
    _check_history(server)


# On empty tables no trigger fires: the refusals come from the privileges.
REFUSED_TO_THE_ROLE = [
    "UPDATE audit_auditentry SET actor = '' WHERE false",
    "DELETE FROM audit_auditentry WHERE false",
    "TRUNCATE audit_auditentry CASCADE",
    "UPDATE audit_auditseal SET number = 1 WHERE false",
    "DELETE FROM audit_auditseal WHERE false",
    "TRUNCATE audit_auditseal",
    "UPDATE events_event SET type = '' WHERE false",
    "TRUNCATE events_event CASCADE",
    "SET session_replication_role = replica",
]
REFUSED_TO_THE_OWNER = [
    "TRUNCATE audit_auditentry CASCADE",
    "TRUNCATE audit_auditseal",
    "TRUNCATE events_event CASCADE",
    "UPDATE audit_auditentry SET actor = ''",
    "DELETE FROM audit_auditentry",
]
ENTRY = """
INSERT INTO audit_auditentry
    (id, actor, role, action, subject_type, rider_ids, phi, reason, outcome, details, request_id)
VALUES (gen_random_uuid(), 'system', '', 'test', '', '{}', '', '', 'done', '{}', '')
"""


def _check_history(server: EmbeddedPostgres) -> None:
    def connected(role: str) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(host=str(server.socket_folder), user=role, dbname="carelane", autocommit=True)

    with connected("carelane") as session:
        session.execute(ENTRY)
        for statement in REFUSED_TO_THE_ROLE:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
                session.execute(statement.encode())
        session.execute("DELETE FROM events_event WHERE false")  # old events outside a ride's history
    with connected("carelane_owner") as session:
        for statement in REFUSED_TO_THE_OWNER:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
                session.execute(statement.encode())
        assert session.execute("SELECT count(*) FROM audit_auditentry").fetchone() == (1,)


def _settings() -> str:
    return "".join((ROOT / "config" / name).read_text() for name in ("settings.py", "databases.py"))


def test_guide_for_operators_lists_every_setting_and_no_other() -> None:
    known = set(re.findall(r"env(?:\.\w+)?(?:\(\s*|, )\"([A-Z_]+)\"", _settings()))
    known |= set(re.findall(r"environ\.get\(\"([A-Z_]+)\"", (ROOT / "deploy" / "gunicorn.conf.py").read_text()))
    guide = (ROOT / "docs" / "operations.md").read_text()
    section = guide.split("\n## Settings\n")[1].split("\n## ")[0]

    listed = re.findall(r"^\| `([A-Z_]+)` \|", section, flags=re.MULTILINE)

    assert len(known) > 20
    assert sorted(listed) == sorted(known)


@pytest.mark.django_db(transaction=True)
def test_health_check_of_the_container_asks_as_the_proxy_does() -> None:
    name = "rides.example.org"
    lines = (ROOT / "tests" / "production.env").read_text().splitlines()
    production = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    production["CACHE_URL"] = ""

    with serving(host=name, **production) as url:
        environment = {
            "PATH": os.environ["PATH"],
            "BASE_URL": f"https://{name}",
            "BIND": f"0.0.0.0:{urlsplit(url).port}",
        }
        command = [sys.executable, "deploy/healthcheck.py"]
        well = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        other_name = subprocess.run(
            command, cwd=ROOT, env=environment | {"BASE_URL": "https://elsewhere.example.org"}, check=False
        )
    gone = subprocess.run(command, cwd=ROOT, env=environment, check=False)

    assert (well.returncode, other_name.returncode, gone.returncode) == (0, 1, 1)


def test_compose_file_sets_nothing_that_settings_do_not_know() -> None:
    known = set(re.findall(r"env(?:\.\w+)?\(\s*\"([A-Z_]+)\"", _settings()))
    compose = (ROOT / "deploy" / "compose.yaml").read_text()

    secrets = set(re.findall(r"^    ([A-Z_]+)_FILE: ", compose, flags=re.MULTILINE))

    assert {"SECRET_KEY", "DATABASE_URL", "ENCRYPTION_KEYS"} <= secrets <= known


def test_every_queue_has_workers_wherever_the_service_is_started() -> None:
    app.loader.import_default_modules()
    wanted = {app.conf.task_default_queue, *(route["queue"] for route in app.conf.task_routes.values())}
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    units = [one.read_text() for one in (ROOT / "deploy" / "systemd").glob("*.service")]

    assert set(app.conf.task_routes) <= set(TIMETABLE)
    assert {_queue_of(one) for one in compose["services"].values()} - {""} == wanted
    for text in ["\n".join(units), (ROOT / "docs" / "operations.md").read_text()]:
        assert set(re.findall(r"worker --queues (\w+)", text)) == wanted
    local = (ROOT / "lib" / "local_run" / "run.py").read_text()
    assert set(",".join(re.findall(r"--queues ([\w,]+)", local)).split(",")) == wanted


def test_tasks_of_minutes_hold_no_worker_that_rides_wait_for() -> None:
    app.loader.import_default_modules()
    long = {name for name, task in app.tasks.items() if (task.time_limit or 0) > app.conf.task_time_limit}

    assert long == {"exports.make_exports", "exports.run_schedules"}
    assert {app.conf.task_routes[name]["queue"] for name in long} == {"exports"}


def _queue_of(service: dict[str, Any]) -> str:
    """Return the queue of a service of the compose file; "" if it is not a worker."""
    command = service.get("command", [])
    return command[command.index("--queues") + 1] if "--queues" in command else ""


def test_files_lie_in_volumes_that_their_makers_may_write_to() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    image = (ROOT / "deploy" / "Containerfile").read_text()
    (folder,) = re.findall(r"^WORKDIR (.+)$", image, flags=re.MULTILINE)
    # The defaults of settings without DOWNTIME_DIR and EXPORTS_DIR.
    packs, exports = f"{folder}/var/downtime", f"{folder}/var/exports"
    mounted = {_queue_of(one): one.get("volumes") for one in compose["services"].values() if _queue_of(one)}

    # Workers make exports, the web server makes immediate ones and serves files, another worker deletes them.
    assert mounted == {
        "carelane": [f"downtime:{packs}", f"exports:{exports}"],
        "exports": [f"exports:{exports}"],
        "webhooks": None,
    }
    assert compose["services"]["web"]["volumes"] == [f"exports:{exports}"]
    assert {"downtime", "exports"} <= set(compose["volumes"])
    # An engine gives a new volume the owner and mode of the folder that it covers.
    assert f"install --directory --owner carelane --group carelane --mode 0700 {packs} {exports}" in image
    assert compose["services"]["worker"]["environment"]["DOWNTIME_PASSPHRASE"] == "${DOWNTIME_PASSPHRASE:-}"
