"""Logs of every process: one JSON line per event, with an allow-list of keys.

Modules and libraries log through `logging`; structlog renders every record (`ProcessorFormatter`) in four steps:

1. The event is the message template without its arguments, and only its first line.
2. Facts are added: `extra`, the context of the request (`structlog.contextvars`: request id, principal), the task of
   Celery, the method and route of a request that Django reports.
3. An exception is described by class, frames, SQLSTATE and constraint, never by its text.
4. `keep_allowed` drops every key that is not listed here and every value that is not a scalar.

Names, phone numbers and addresses reach logs through arguments and through texts such as PostgreSQL's
"Key (phone)=(...) already exists"; neither is ever rendered.  A new fact goes into `extra` under a key of ALLOWED.
"""

import datetime as dt
import json
import logging
import traceback
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final
from uuid import UUID

import structlog
from structlog.typing import EventDict, Processor

ALLOWED: Final = frozenset(
    {
        "action", "attempt", "bytes", "client_id", "code", "count", "delivery_id", "destination_id", "driver_id",
        "event_id", "event_type", "export_id", "facility_id", "method", "milliseconds", "outcome", "principal",
        "principal_id", "provider_id", "queue", "reason_code", "request_id", "ride_id", "rider_id", "route", "row_id",
        "run_id", "seconds", "sqlstate", "standing_order_id", "status_code", "step", "subject_id", "subscription_id",
        "task", "task_id", "token_id", "user_id", "vehicle_id",
    }
)  # fmt: skip
# Keys that the processors below set; their values contain no text from outside.
OWN: Final = frozenset(
    {"at", "level", "logger", "event", "exception", "causes", "frames", "constraint", "errno"},
)
# Celery passes these facts as arguments of the message.
_CELERY: Final = {"name": "task", "id": "task_id", "runtime": "seconds"}
_MAX_VALUE: Final = 200  # characters; identifiers and codes are shorter
_MAX_FRAMES: Final = 40  # the innermost ones; recursion errors have thousands


def keep_allowed(logger: logging.Logger | None, method: str, event: EventDict) -> EventDict:
    """Drop every key that is not allowed, and reduce values to scalars: the last step before rendering."""
    facts = {key: _scalar(value) for key, value in event.items() if key in ALLOWED and value is not None}
    return {key: value for key, value in event.items() if key in OWN and value is not None} | facts


def logging_config(*, level: str) -> dict[str, Any]:
    """Build the LOGGING setting: everything goes through the root to standard error.

    Loggers whose libraries attach handlers of their own are named, so that those handlers go.
    """
    # SQL with its parameters is a DEBUG message; a level of DEBUG for the rest must not switch it on.
    quiet = {
        "django.db.backends": {"level": "INFO"},
        "paramiko": {"level": "CRITICAL"},  # quotes servers; uploads report failures as codes
    }
    owned = (
        "django", "django.server", "celery", "celery.task", "kombu", "allauth",
        "uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "gunicorn.error", "gunicorn.access",
    )  # fmt: skip
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": json_formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {name: {"handlers": [], "propagate": True} for name in owned} | quiet,
    }


def json_formatter() -> structlog.stdlib.ProcessorFormatter:
    """Build the formatter of the handler: a record becomes one line of JSON."""
    facts: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.ExtraAdder(ALLOWED),
        _add_celery_task,
        _add_request,
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=facts,
        processors=[
            _add_origin,
            _describe_exception,
            keep_allowed,
            structlog.processors.JSONRenderer(serializer=json.dumps, ensure_ascii=False),
        ],
        use_get_message=False,  # the message template, without its arguments
        pass_foreign_args=True,
    )


def _add_origin(logger: logging.Logger | None, method: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    lines = str(event["event"]).strip().splitlines()
    origin = {
        "at": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "logger": record.name,
        # The text of an exception that is logged as the message may hold values of rows.
        "event": _class_name(record.msg) if isinstance(record.msg, BaseException) else "".join(lines[:1])[:_MAX_VALUE],
    }
    return origin | {key: value for key, value in event.items() if key not in origin}


def _add_celery_task(logger: logging.Logger | None, method: str, event: EventDict) -> EventDict:
    arguments = event["positional_args"]
    if event["_record"].name.startswith("celery") and isinstance(arguments, Mapping):
        event.update({key: arguments[name] for name, key in _CELERY.items() if name in arguments})
    return event


def _add_request(logger: logging.Logger | None, method: str, event: EventDict) -> EventDict:
    request = getattr(event["_record"], "request", None)
    if request is not None:
        # The route, not the path, which may contain anything that a user typed.
        event["request_id"] = getattr(request, "id", event.get("request_id"))
        event["method"] = getattr(request, "method", None)
        event["route"] = getattr(getattr(request, "resolver_match", None), "route", None)
    return event


def _scalar(value: object) -> object:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | UUID):
        return str(value)[:_MAX_VALUE]
    return type(value).__name__


def _describe_exception(logger: logging.Logger | None, method: str, event: EventDict) -> EventDict:
    """Add class, frames and PostgreSQL's codes of an exception, without its text."""
    exc_info = event.get("exc_info")
    exception = exc_info[1] if exc_info else event["_record"].msg
    if not isinstance(exception, BaseException):
        return event
    chain = list(_chain(exception))
    event["exception"] = _class_name(exception)
    event["frames"] = _frames(exception.__traceback__)
    if len(chain) > 1:
        event["causes"] = [_class_name(cause) for cause in chain[1:]]
    for cause in chain:
        # Names from the schema, never values.
        if sqlstate := getattr(cause, "sqlstate", None):
            event["sqlstate"] = sqlstate
            event["constraint"] = getattr(getattr(cause, "diag", None), "constraint_name", None)
        if isinstance(cause, OSError) and cause.errno is not None:
            event["errno"] = cause.errno
    return event


def _chain(exception: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = exception
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _frames(start: TracebackType | None) -> list[str]:
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(start)]
    return [f"{code.co_filename}:{line} {code.co_name}" for code, line in frames[-_MAX_FRAMES:]]


def _class_name(exception: BaseException) -> str:
    kind = type(exception)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
