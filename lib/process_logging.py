"""Logs of every process: one JSON line per event, with an allow-list of keys.

Messages are written as their templates, without what was filled in, and exceptions as class and frames, without their
text: names, phones and addresses reach logs through arguments and through texts such as PostgreSQL's
"Key (phone)=(...) already exists".  What a reader of the log needs goes into `extra`, under a key of ALLOWED.
"""

import datetime as dt
import json
import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final
from uuid import UUID

ALLOWED: Final = frozenset(
    {
        "action", "attempt", "bytes", "client_id", "code", "count", "delivery_id", "driver_id", "event_id",
        "event_type", "facility_id", "method", "milliseconds", "outcome", "principal", "principal_id", "provider_id",
        "queue", "reason_code", "request_id", "ride_id", "rider_id", "route", "seconds", "status_code", "step",
        "subject_id", "subscription_id", "task", "task_id", "token_id", "user_id", "vehicle_id",
    }
)  # fmt: skip
# Celery hands its facts over as the arguments of the message.
_CELERY: Final = {"name": "task", "id": "task_id", "runtime": "seconds"}
_LONGEST: Final = 200  # characters of a value; identifiers and codes are shorter
_FRAMES: Final = 40  # innermost ones; recursion errors have thousands


class JsonFormatter(logging.Formatter):
    """Turns a record into one line of JSON: `at`, `level`, `logger`, `event`, allowed extras, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": _template(record.msg),
        }
        line |= _allowed(record)
        exception = _exception(record)
        if exception is not None:
            line |= _described(exception)
        return json.dumps(line, ensure_ascii=False, default=str)


def logging_config(*, level: str) -> dict[str, Any]:
    """Build the LOGGING setting: everything goes through the root to standard error.

    Loggers whose libraries attach handlers of their own are named, so that those handlers go.
    """
    # SQL with its parameters is a DEBUG message; a level of DEBUG for the rest must not switch it on.
    quiet = {"django.db.backends": {"level": "INFO"}}
    owned = (
        "django", "django.server", "celery", "celery.task", "kombu", "allauth",
        "uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "gunicorn.error", "gunicorn.access",
    )  # fmt: skip
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {name: {"handlers": [], "propagate": True} for name in owned} | quiet,
    }


def _template(message: object) -> str:
    """Give the first line of the message before anything is filled in; of a bare exception only its class."""
    if isinstance(message, BaseException):
        return _name(message)
    lines = str(message).strip().splitlines()
    return lines[0][:_LONGEST] if lines else ""


def _allowed(record: logging.LogRecord) -> dict[str, Any]:
    found = {key: value for key, value in record.__dict__.items() if key in ALLOWED}
    if record.name.startswith("celery") and isinstance(record.args, Mapping):
        found |= {key: record.args[name] for name, key in _CELERY.items() if name in record.args}
    request = getattr(record, "request", None)
    if request is not None:
        # The route, not the path: a path holds whatever somebody typed.
        found |= {
            "request_id": getattr(request, "id", None),
            "method": getattr(request, "method", None),
            "route": getattr(getattr(request, "resolver_match", None), "route", None),
        }
    return {key: _scalar(value) for key, value in found.items() if value is not None}


def _scalar(value: object) -> object:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | UUID):
        return str(value)[:_LONGEST]
    return type(value).__name__


def _exception(record: logging.LogRecord) -> BaseException | None:
    if record.exc_info and record.exc_info[1] is not None:
        return record.exc_info[1]
    return record.msg if isinstance(record.msg, BaseException) else None


def _described(exception: BaseException) -> dict[str, Any]:
    """Tell what went wrong and where, without a word of the exception's text."""
    chain = list(_chain(exception))
    described: dict[str, Any] = {"exception": _name(exception), "frames": list(_frames(exception.__traceback__))}
    if len(chain) > 1:
        described["causes"] = [_name(cause) for cause in chain[1:]]
    for cause in chain:
        # What PostgreSQL says apart from its text: names of the schema, never values.
        if getattr(cause, "sqlstate", None):
            described["sqlstate"] = cause.sqlstate  # type: ignore[attr-defined]  # of psycopg.Error
            described["constraint"] = getattr(getattr(cause, "diag", None), "constraint_name", None)
        if isinstance(cause, OSError) and cause.errno is not None:
            described["errno"] = cause.errno
    return described


def _chain(exception: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = exception
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _frames(start: TracebackType | None) -> Iterable[str]:
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(start)]
    return [f"{code.co_filename}:{line} {code.co_name}" for code, line in frames[-_FRAMES:]]


def _name(exception: BaseException) -> str:
    kind = type(exception)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
