import datetime as dt
import json
import logging
import logging.config

import pytest
import structlog
from django.db import IntegrityError, connection
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from lib.process_logging import ALLOWED, OWN, json_formatter, keep_allowed, logging_config

CANARY = "Quillon-Canary-4711"


def _line(record: logging.LogRecord) -> dict[str, object]:
    line = json_formatter().format(record)
    assert "\n" not in line
    assert CANARY not in line
    parsed: dict[str, object] = json.loads(line)
    return parsed


def _record(message: object, *args: object, name: str = "apps.rides", **extra: object) -> logging.LogRecord:
    return logging.getLogger(name).makeRecord(name, logging.ERROR, "f.py", 1, message, args, None, extra=extra)


def test_line_is_the_template_with_allowed_extras_alone() -> None:
    record = _record("ride %s of %s is late", 7, CANARY, ride_id="r-1", seconds=90, rider_name=CANARY)
    record.created = dt.datetime(2026, 11, 20, 15, 0, 0, 250_000, tzinfo=dt.UTC).timestamp()

    line = _line(record)

    assert line == {
        "at": "2026-11-20T15:00:00.250+00:00",
        "level": "ERROR",
        "logger": "apps.rides",
        "event": "ride %s of %s is late",
        "ride_id": "r-1",
        "seconds": 90,
    }


def test_line_names_the_type_of_an_extra_that_is_no_plain_value() -> None:
    line = _line(_record("seen", ride_id={"name": CANARY}, code=CANARY[:0]))

    assert line["ride_id"] == "dict"
    assert line["code"] == ""


def test_line_holds_the_first_line_of_a_message_in_many() -> None:
    assert _line(_record(f"never retrieved\nfuture: {CANARY}"))["event"] == "never retrieved"
    assert _line(_record(""))["event"] == ""


def test_line_of_a_request_holds_its_id_and_method_and_no_path() -> None:
    request = RequestFactory().get(f"/riders/{CANARY}?name={CANARY}")
    request.id = "q-1"  # type: ignore[attr-defined]  # set by the middleware

    line = _line(_record("Internal Server Error: %s", request.path, status_code=500, request=request))

    assert (line["request_id"], line["method"], line["status_code"]) == ("q-1", "GET", 500)
    assert "route" not in line


def test_line_of_a_celery_task_names_the_task() -> None:
    context = {"name": "apps.rides.tasks.release", "id": "t-1", "exc": CANARY, "args": CANARY}

    line = _line(_record("Task %(name)s[%(id)s] raised: %(exc)s", context, name="celery.app.trace"))

    assert (line["task"], line["task_id"]) == ("apps.rides.tasks.release", "t-1")


def test_line_of_an_exception_given_as_message_is_its_class() -> None:
    line = _line(_record(FileNotFoundError(2, CANARY)))

    assert (line["event"], line["exception"], line["errno"]) == ("FileNotFoundError", "FileNotFoundError", 2)


@pytest.mark.django_db
def test_line_of_a_broken_constraint_names_it_and_no_value() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE seen (phone text CONSTRAINT seen_phone_once UNIQUE)")
    with connection.cursor() as cursor, pytest.raises(IntegrityError, match=CANARY) as caught:
        cursor.execute("INSERT INTO seen (phone) VALUES (%s), (%s)", [CANARY, CANARY])
    record = logging.LogRecord("apps", logging.ERROR, "f.py", 1, "failed", (), caught._excinfo)

    line = _line(record)

    assert line["exception"] == "django.db.utils.IntegrityError"
    assert line["causes"] == ["psycopg.errors.UniqueViolation"]
    assert (line["sqlstate"], line["constraint"]) == ("23505", "seen_phone_once")
    assert "test_line_of_a_broken_constraint_names_it_and_no_value" in str(line["frames"])


def test_line_of_a_request_holds_its_context() -> None:
    with structlog.contextvars.bound_contextvars(request_id="q-1", principal="user", rider_name=CANARY):
        line = _line(_record("seen"))

    assert (line["request_id"], line["principal"]) == ("q-1", "user")
    assert "rider_name" not in line


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.lists(st.text())))
def test_allow_list_passes_no_other_key_and_no_structure(event: dict[str, object]) -> None:
    kept = keep_allowed(None, "info", event | {"route": {"name": CANARY}, "rider_name": CANARY})

    assert kept.keys() <= ALLOWED | OWN
    assert kept["route"] == "dict"


def test_every_library_logs_through_the_one_formatter(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["django.request", "celery.app.trace", "allauth.account", "uvicorn.error", "gunicorn.error", "new.library"]
    own = logging.StreamHandler()
    logging.getLogger("gunicorn.error").addHandler(own)

    logging.config.dictConfig(logging_config(level="INFO"))
    for name in names:
        logging.getLogger(name).error("told %s", CANARY)

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["logger"] for line in lines] == names
    assert {line["event"] for line in lines} == {"told %s"}


def test_sql_stays_out_of_the_log_at_any_level(capsys: pytest.CaptureFixture[str]) -> None:
    logging.config.dictConfig(logging_config(level="DEBUG"))

    logging.getLogger("django.db.backends").debug("(%.3f) %s; args=%s", 0.1, "SELECT", CANARY)

    assert capsys.readouterr().err == ""


@pytest.fixture(autouse=True)
def _restored_logging() -> object:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    yield
    root.setLevel(before[0])
    root.handlers = before[1]
