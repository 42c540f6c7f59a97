"""Schedules: exports and reports that are made by themselves, and what became of each run."""

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
    """Schedules of your client."""

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

        Those of your own client that reach no further than your token.
        """
        rows = ReportSchedule.objects.visible_to(self.principal).prefetch_related("recipients")
        for name in ("kind", "active"):
            if name in self.query:
                rows = rows.filter(**{name: self.query[name]})
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Keep a schedule; it is due for the first time at `nextAt`.

        A run has the reach of your token as it is now, as long as the token, or the one it was rotated to, still has
        it. An export goes to a destination, or people are told by e-mail that it is ready; a report is mailed.
        """
        made = schedules.create(request=shapes.request_of(self.body()), by=self.principal, at=self.at)
        return self._answer(made, headers={"Location": f"/api/exports/schedules/{made.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a schedule."""
        return self._answer(self._found(id))

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a schedule: fields left out stay as they are, and null takes a filter away.

        Runs under way come to their end as they began. Where another file is made, `changes` begin anew.
        """
        was = schedule_validation.request_of(self._found(id))
        changed = schedules.change(
            schedule_id=id,
            request=shapes.request_of(self.body(), was),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(changed)

    def destroy(self, request: Request, id: UUID) -> Response:
        """Take a schedule and its runs away. Exports that it made stay."""
        schedules.remove(schedule_id=id, by=self.principal, at=self.at)
        return self.answer(None)

    def pause(self, request: Request, id: UUID) -> Response:
        """Make nothing more until it is resumed."""
        return self._answer(schedules.pause(schedule_id=id, by=self.principal, at=self.at))

    def resume(self, request: Request, id: UUID) -> Response:
        """Go on.

        Where the service had stopped by itself, exports of days that failed meanwhile, or were due, are made: the last
        31 of them.
        """
        return self._answer(schedules.resume(schedule_id=id, by=self.principal, at=self.at))

    def run(self, request: Request, id: UUID) -> Response:
        """Make it once now, as if it were due. Follow it among its runs.

        Ten minutes after people were mailed at the earliest.
        """
        return self.answer(schedules.run_now(schedule_id=id, by=self.principal, at=self.at))

    def runs(self, request: Request, id: UUID) -> Response:
        """List the runs of a schedule, newest first."""
        rows = ScheduleRun.objects.filter(schedule=self._found(id))
        if "state" in self.query:
            rows = rows.filter(state__in=self.query["state"])
        return self.answer_page(self.page(rows, sort="-due_at"))

    def _found(self, schedule_id: UUID) -> ReportSchedule:
        found = ReportSchedule.objects.visible_to(self.principal).filter(pk=schedule_id).first()
        if found is None:
            raise NotFound(_("schedule"))
        return found

    def _answer(self, schedule: ReportSchedule, *, headers: dict[str, str] | None = None) -> Response:
        # When it is due next, and how it does, move without its version.
        return self.answer(schedule, version=schedule.version, settled=False, headers=headers)
