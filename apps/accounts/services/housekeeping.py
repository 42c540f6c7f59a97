"""Periodic tasks of several steps: a failure of one step raises an alert and does not stop the other steps."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from lib.messages import Message

log = logging.getLogger(__name__)


def run(task: str, steps: Mapping[str, Callable[[], object]], *, scope: str, at: datetime) -> None:
    """Run the steps of a task.  A failed step is logged and alerted; its alert is resolved when it succeeds again.

    `task` is the name of the Celery task, the keys of `steps` name the steps; both appear in the alert, which is
    addressed to people with `scope`.  Steps open their own transactions.  One further query while all steps succeed.
    """
    outcomes = {name: _succeeds(name, step) for name, step in steps.items()}
    for name in (name for name, succeeded in outcomes.items() if not succeeded):
        alerts.raise_alert(
            kind="task.failed",
            severity=Alert.Severity.CRITICAL,
            scope=scope,
            key=_key(task, name),
            title=Message(_("A periodic task failed: %(task)s, step %(step)s"), {"task": task, "step": name}),
            text=[_("See the worker's log for the error. The task runs again automatically.")],
            at=at,
        )
    alerts.resolve(*(_key(task, name) for name, succeeded in outcomes.items() if succeeded), at=at)


def _succeeds(name: str, step: Callable[[], object]) -> bool:
    try:
        step()
    except Exception:
        log.exception("step of a periodic task failed", extra={"step": name})
        return False
    return True


def _key(task: str, step: str) -> str:
    return f"task.failed:{task}:{step}"
