"""The Celery app and the schedule of all periodic tasks.

Beat only triggers tasks.  Work that is due is stored in rows of PostgreSQL, which a task claims: a lost trigger is made
up for by the next one, and a second beat or worker affects only the speed.
"""

import os
from datetime import timedelta
from typing import Any, Final

from celery import Celery
from celery.app.amqp import AMQP
from django.conf import settings
from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Task -> interval.  Tasks take no arguments and read the clock themselves.
TIMETABLE: Final[dict[str, timedelta]] = {
    "audit.seal_audit_trail": timedelta(seconds=10),
    "accounts.announce_expiring_tokens": timedelta(hours=1),
    "accounts.purge_idempotency_records": timedelta(hours=1),
    "accounts.clear_sessions": timedelta(hours=1),
    "accounts.mail_alerts": timedelta(seconds=10),
    "fleet.remind": timedelta(hours=1),
    "rides.expire_offers": timedelta(seconds=5),
    "rides.watch": timedelta(seconds=15),
    "rides.purge_drafts": timedelta(hours=1),
    "dispatch.make_downtime_pack": timedelta(seconds=30),  # due every ten minutes, made in steps
    "recurring.generate": timedelta(seconds=10),
    "recurring.watch": timedelta(minutes=15),
    "reporting.refresh_rollups": timedelta(seconds=30),
    "exports.make_exports": timedelta(seconds=5),
    "exports.cleanup": timedelta(minutes=5),
    "exports.run_schedules": timedelta(seconds=5),
    "exports.notify_schedule_owners": timedelta(seconds=30),
    "webhooks.deliver": timedelta(seconds=1),
    "webhooks.sweep": timedelta(seconds=3),
    "webhooks.watch": timedelta(seconds=10),
    "webhooks.recover": timedelta(seconds=10),
    "webhooks.cleanup": timedelta(minutes=1),
    "webhooks.purge": timedelta(hours=1),
}

if settings.DEMO_MODE:
    TIMETABLE["demo.play"] = timedelta(seconds=10)

TRANSPORT_ALIASES["filesystem"] = "lib.file_broker:Transport"  # kombu's own exposes messages before they are complete


class _Connection(Connection):
    """Retries at least every five seconds: kombu's own interval grows to half a minute."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        return super().ensure_connection(*args, **({"interval_max": 5} | options))


class _Amqp(AMQP):
    Connection = _Connection


app = Celery("carelane", amqp=_Amqp)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = {
    task: {
        "task": task,
        "schedule": every,
        # Without a worker, triggers expire instead of piling up.
        "options": {"expires": max(every.total_seconds(), 5)},
    }
    for task, every in TIMETABLE.items()
}
app.autodiscover_tasks()
