"""E-mail of schedules: an export is ready, a report, or a schedule was paused.

Mail is not confidential.  It contains no rider names, no download links and no small counts, for any recipient; the
linked pages require a sign-in.
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
from apps.exports.models.schedules import PauseReason
from apps.exports.queries import schedule_reports
from apps.exports.services.schedule_recipients import Recipient
from lib import dates, zone_labels
from lib.clocks import clock
from lib.db import leases

log = logging.getLogger(__name__)

_NOTICE_LEASE: Final = timedelta(minutes=2)  # longer than a mail server takes
_NOTICE_BATCH: Final = 20
_RETRY_PERIOD: Final = timedelta(days=1)


def send(run: ScheduleRun, recipient: Recipient) -> bool:
    """Send a recipient the mail of a run, in their language; return whether the mail server accepted it."""
    with override(recipient.user.language or settings.LANGUAGE_CODE):
        is_report = run.schedule.kind == ReportSchedule.Kind.REPORT
        message = _report(run, recipient) if is_report else _ready(run, recipient.user)
    # A mail that is sent again after a crash has the same id, so that mail programs show it once.
    _name, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    message.extra_headers["Message-ID"] = f"<{run.pk}.{recipient.user.pk}@{sender.rpartition('@')[2]}>"
    return _sent(message, run)


def send_notices(*, at: datetime) -> int:
    """Mail the owners of paused schedules, for up to a day after the pause; return the number of mails sent.

    An owner that is an API client or a former user gets no mail: user managers have an alert in their inbox.
    """
    rows = ReportSchedule.objects.filter(notice_due_at__lte=at).select_related("user")
    claim = leases.claim(rows.order_by("notice_due_at", "pk"), at=at, lease=_NOTICE_LEASE, limit=_NOTICE_BATCH)
    count = 0
    for schedule in claim.rows:
        owner = schedule.user
        if owner is not None and owner.is_active and at - schedule.updated_at < _RETRY_PERIOD:
            with override(owner.language or settings.LANGUAGE_CODE):
                message = _paused(schedule, owner)
            if not _sent(message, schedule):
                continue  # is tried again when the lease ends
            count += 1
        claim.settle(schedule, notice_due_at=None)
    return count


def _sent(message: EmailMultiAlternatives, source: ScheduleRun | ReportSchedule) -> bool:
    try:
        message.send()
    except (OSError, ValueError) as failure:  # the server refuses it, or Django rejects an address
        log.warning("%s not mailed: %s", source, type(failure).__name__)
        return False
    return True


def _ready(run: ScheduleRun, user: User) -> EmailMultiAlternatives:
    link = f"{settings.BASE_URL}{reverse('report_schedule', args=[run.schedule_id])}"
    context = {"link": link, "period": _period(run), "stop": link}
    return _message(_("Your export is ready"), "reports/mail_ready", context, user)


def _report(run: ScheduleRun, recipient: Recipient) -> EmailMultiAlternatives:
    context: dict[str, Any] = schedule_reports.report(run, by=recipient.principal)
    stop = f"{settings.BASE_URL}{reverse('report_schedule', args=[run.schedule_id])}"
    as_of = context["as_of"]
    context |= {
        "link": f"{settings.BASE_URL}{context['path']}",
        "period": _period(run),
        "stop": stop,
        "as_of": None if as_of is None else _local(as_of, run.schedule.zone),
    }
    subject = _("Your report, %(period)s") % {"period": _period(run)}
    return _message(subject, "reports/mail_report", context, recipient.user)


def _local(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{dates.dated_day(local.date())}, {clock(local)} {zone_labels.short(local)}"


def _paused(schedule: ReportSchedule, user: User) -> EmailMultiAlternatives:
    link = f"{settings.BASE_URL}{reverse('report_schedule', args=[schedule.pk])}"
    context = {"link": link, "why": PauseReason(schedule.paused_for).label if schedule.paused_for else ""}
    return _message(_("Your schedule is paused"), "reports/mail_schedule_paused", context, user)


def _period(run: ScheduleRun) -> str:
    """Return the days that a run covers; "" if it covers changes."""
    if run.first_day is None:
        return ""
    if run.first_day == run.last_day:
        return dates.plain_day(run.first_day)
    first, last = (dates.plain_day(day) for day in (run.first_day, run.last_day) if day)
    return _("%(first)s to %(last)s") % {"first": first, "last": last}


def _message(subject: str, template: str, context: dict[str, Any], user: User) -> EmailMultiAlternatives:
    message = EmailMultiAlternatives(
        f"[Carelane] {subject}", render_to_string(f"{template}.txt", context), to=[user.email]
    )
    message.attach_alternative(render_to_string(f"{template}.html", {**context, "subject": subject}), "text/html")
    return message
