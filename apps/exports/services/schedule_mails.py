"""What schedules write to people: that an export is ready, a report with its figures, and that a schedule rests.

Mails leave the house.  They hold no name of a rider, no key and no figure of few rides, whoever gets them; what they
lead to asks for a sign-in.
"""

import logging
from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.accounts.models import User
from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.models.schedules import Pause
from apps.exports.queries import schedule_reports
from apps.exports.services.schedule_recipients import Recipient
from lib.db import leases

log = logging.getLogger(__name__)

_NOTICE_LEASE: Final = timedelta(minutes=2)  # longer than a mail server takes
_NOTICES_AT_ONCE: Final = 20
_TRY_FOR: Final = timedelta(days=1)


def send(run: ScheduleRun, person: Recipient) -> bool:
    """Send somebody the mail of a run, in their language; say whether the mail server took it."""
    with override(person.user.language or settings.LANGUAGE_CODE):
        is_report = run.schedule.kind == ReportSchedule.Kind.REPORT
        message = _report(run, person) if is_report else _ready(run, person.user)
    # The same mail that is sent once more after a crash has the same id, and is shown once.
    _name, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    message.extra_headers["Message-ID"] = f"<{run.pk}.{person.user.pk}@{sender.rpartition('@')[2]}>"
    return _sent(message, run)


def send_notices(*, at: datetime) -> int:
    """Mail the owners of paused schedules, for up to a day after the pause; return the number of mails sent.

    An owner that is an API client or a former user gets no mail: user managers have an alert in their inbox.
    """
    rows = ReportSchedule.objects.filter(notice_due_at__lte=at).select_related("user")
    claim = leases.claim(rows.order_by("notice_due_at", "pk"), at=at, lease=_NOTICE_LEASE, limit=_NOTICES_AT_ONCE)
    count = 0
    for schedule in claim.rows:
        owner = schedule.user
        if owner is not None and owner.is_active and at - schedule.updated_at < _TRY_FOR:
            with override(owner.language or settings.LANGUAGE_CODE):
                message = _paused(schedule, owner)
            if not _sent(message, schedule):
                continue  # is tried again when the lease ends
            count += 1
        claim.settle(schedule, notice_due_at=None)
    return count


def _sent(message: EmailMultiAlternatives, about: ScheduleRun | ReportSchedule) -> bool:
    try:
        message.send()
    except (OSError, ValueError) as failure:  # the server refuses it, or Django: what is no address
        log.warning("%s not mailed: %s", about, type(failure).__name__)
        return False
    return True


def _ready(run: ScheduleRun, person: User) -> EmailMultiAlternatives:
    link = f"{settings.BASE_URL}{reverse('report_schedule', args=[run.schedule_id])}"
    told = {"link": link, "period": _period(run), "stop": link}
    return _message(_("Your export is ready"), "reports/mail_ready", told, person)


def _report(run: ScheduleRun, person: Recipient) -> EmailMultiAlternatives:
    told: dict[str, Any] = schedule_reports.report(run, by=person.principal)
    zone = ZoneInfo(run.schedule.zone)
    stop = f"{settings.BASE_URL}{reverse('report_schedule', args=[run.schedule_id])}"
    as_of = told["as_of"]
    told |= {
        "link": f"{settings.BASE_URL}{told['path']}",
        "period": _period(run),
        "stop": stop,
        "as_of": None if as_of is None else f"{as_of.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})",
    }
    subject = _("Your report, %(period)s") % {"period": _period(run)}
    return _message(subject, "reports/mail_report", told, person.user)


def _paused(schedule: ReportSchedule, person: User) -> EmailMultiAlternatives:
    link = f"{settings.BASE_URL}{reverse('report_schedule', args=[schedule.pk])}"
    told = {"link": link, "why": Pause(schedule.paused_for).label if schedule.paused_for else ""}
    return _message(_("A schedule of yours rests"), "reports/mail_schedule_paused", told, person)


def _period(run: ScheduleRun) -> str:
    """Say which days a run is about; "" where it goes by changes."""
    if run.first_day is None:
        return ""
    if run.first_day == run.last_day:
        return f"{run.first_day}"
    return _("%(first)s to %(last)s") % {"first": run.first_day, "last": run.last_day}


def _message(subject: str, template: str, told: dict[str, Any], person: User) -> EmailMultiAlternatives:
    message = EmailMultiAlternatives(
        f"[Carelane] {subject}", render_to_string(f"{template}.txt", told), to=[person.email]
    )
    message.attach_alternative(render_to_string(f"{template}.html", {**told, "subject": subject}), "text/html")
    return message
