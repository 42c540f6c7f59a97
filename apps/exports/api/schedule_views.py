"""Schedules of exports and reports, and their runs."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.exports.api import schedule_serializers as shapes
from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.services import schedule_validation, schedules
from lib.api.views import ApiViewSet
from lib.errors import Code, NotFound
from lib.scopes import Scope

_WRITE_ERRORS = (Code.PHI_NOT_PERMITTED, Code.INSUFFICIENT_SCOPE)


class ScheduleViewSet(ApiViewSet):
    """Schedules."""

    scopes = dict.fromkeys(
        ("list", "create", "retrieve", "partial_update", "destroy", "pause", "resume", "run", "runs"),
        Scope.EXPORTS_CREATE,
    )
    queries = {"list": shapes.ScheduleQuery, "runs": shapes.ScheduleRunQuery}
    bodies = {"create": shapes.ScheduleIn, "partial_update": shapes.ScheduleChangesIn}
    answers = {
        "list": shapes.ScheduleOut,
        "create": shapes.ScheduleOut,
        "retrieve": shapes.ScheduleOut,
        "partial_update": shapes.ScheduleOut,
        "pause": shapes.ScheduleOut,
        "resume": shapes.ScheduleOut,
        "run": shapes.ScheduleRunOut,
        "runs": shapes.ScheduleRunOut,
    }
    statuses = {"run": 202}
    refusals = {
        "create": (*_WRITE_ERRORS, Code.RULE_VIOLATION),
        "partial_update": (*_WRITE_ERRORS, Code.PRECONDITION_FAILED),
        "pause": (Code.INVALID_TRANSITION,),
        "resume": (Code.INVALID_TRANSITION,),
        "run": (Code.INVALID_TRANSITION,),
    }

    def list(self, request: Request) -> Response:
        """List schedules, newest first.

        Schedules of your client whose data scope is within that of your token.
        """
        rows = ReportSchedule.objects.visible_to(self.principal).prefetch_related("recipients")
        for name in ("kind", "active"):
            if name in self.query:
                rows = rows.filter(**{name: self.query[name]})
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Create a schedule. It is first due at `nextAt`.

        Runs have the data scope that your token has now, as long as the token, or the one that replaced it, still has
        it. An export is uploaded to a destination, or users get an e-mail when it is ready; a report is sent by e-mail.
        """
        schedule = schedules.create(request=shapes.request_of(self.body()), by=self.principal, at=self.at)
        return self._answer(schedule, headers={"Location": f"/api/exports/schedules/{schedule.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Get a schedule."""
        return self._answer(self._schedule(id))

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a schedule. Omitted fields keep their values, and null removes a filter.

        Runs in progress finish unchanged. If the content of the file changes, `changes` start over.
        """
        current = schedule_validation.request_of(self._schedule(id))
        schedule = schedules.change(
            schedule_id=id,
            request=shapes.request_of(self.body(), current),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(schedule)

    def destroy(self, request: Request, id: UUID) -> Response:
        """Delete a schedule and its runs. Exports that it made stay."""
        schedules.remove(schedule_id=id, by=self.principal, at=self.at)
        return self.answer(None)

    def pause(self, request: Request, id: UUID) -> Response:
        """Pause a schedule: nothing is due until it is resumed."""
        return self._answer(schedules.pause(schedule_id=id, by=self.principal, at=self.at))

    def resume(self, request: Request, id: UUID) -> Response:
        """Resume a schedule.

        If the service had paused it, exports of days that failed or were due meanwhile are made, up to the last 31.
        """
        return self._answer(schedules.resume(schedule_id=id, by=self.principal, at=self.at))

    def run(self, request: Request, id: UUID) -> Response:
        """Start a run now, as if it were due. Its runs list the progress.

        At the earliest ten minutes after the last manual run that sent e-mail.
        """
        return self.answer(schedules.run_now(schedule_id=id, by=self.principal, at=self.at))

    def runs(self, request: Request, id: UUID) -> Response:
        """List the runs of a schedule, newest first."""
        rows = ScheduleRun.objects.filter(schedule=self._schedule(id))
        if "state" in self.query:
            rows = rows.filter(state__in=self.query["state"])
        return self.answer_page(self.page(rows, sort="-due_at"))

    def _schedule(self, schedule_id: UUID) -> ReportSchedule:
        schedule = ReportSchedule.objects.visible_to(self.principal).filter(pk=schedule_id).first()
        if schedule is None:
            raise NotFound(_("schedule"))
        return schedule

    def _answer(self, schedule: ReportSchedule, *, headers: dict[str, str] | None = None) -> Response:
        # `nextAt` and `failures` change without a new version.
        return self.answer(schedule, version=schedule.version, settled=False, headers=headers)
