"""One shift: plan, change, end, cancel and copy it, with a confirmation for rides that are left without a shift."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.sessions import principal_of, zone_of
from apps.console.fleet import labels
from apps.console.fleet.owner_views import Owner, affected
from apps.console.fleet.shift_forms import ShiftForm, StepForm, times_of
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.dispatch.queries.uncovered_rides import left_without
from apps.dispatch.services import shift_changes
from apps.dispatch.services.shift_changes import RidesLeft
from apps.fleet.models import Activation, Driver, Shift, Vehicle, VehicleStatus
from apps.fleet.services import drivers, shifts
from apps.rides.models import Ride
from apps.rides.queries import assigned_rides
from lib import dates, zone_labels
from lib.access import Principal
from lib.clocks import clock
from lib.errors import DomainError
from lib.ids import uuid_or_none
from lib.scopes import Scope

_DAY: Final = timedelta(days=1)
_END: Final = "end"
_CANCEL: Final = "cancel"


@dataclass(frozen=True, slots=True)
class _UncoveredRides:
    """Rides that a change leaves without a shift: those outside `keeps`; the user has confirmed those in `seen`."""

    keeps: tuple[datetime, datetime] | None
    seen: Collection[UUID]

    def becomes(self, ride: Ride) -> str:
        if self.seen and ride.pk not in self.seen:
            return _("Added since your review; stays with the driver")
        return _("Stays with the driver")


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DRIVERS_WRITE)
def new(request: HttpRequest) -> HttpResponse:
    """Plan a shift, prefilled from the URL: with a driver and day, or as a copy with or without its driver."""
    by = principal_of(request)
    if request.method != "POST":
        form = ShiftForm(initial=_first(request, by), **_choices(by))
        return render(request, "fleet/shift.html", {"form": form})
    form = ShiftForm(request.POST, **_choices(by))
    if form.is_valid():
        try:
            shift = shifts.plan(**form.service_arguments, by=by, at=timezone.now())
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The shift is planned: %(when)s.") % {"when": _when(shift)})
            return redirect(_week_of(shift))
    return render(request, "fleet/shift.html", {"form": form}, status=UNPROCESSABLE)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DRIVERS_WRITE)
def shift(request: HttpRequest, shift_id: UUID) -> HttpResponse:
    """Show and change a shift; asks for confirmation if rides are left without a shift."""
    by = principal_of(request)
    record = _visible_shift(shift_id, by)
    if request.method != "POST":
        return _page(request, record)
    form = ShiftForm(request.POST, **_choices(by, record))
    if form.is_valid():
        try:
            _amend(record, form.service_arguments, form, by)
        except RidesLeft as refusal:
            seen = form.seen_ids
            form.require_confirmation("accept")
            return _page(request, record, form=form, uncovered=_UncoveredRides(refusal.keeps, seen))
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            record.refresh_from_db()
            messages.success(request, _("The shift is changed: %(when)s.") % {"when": _when(record)})
            return redirect(_week_of(record))
    return _page(request, record, form=form)


@require_POST
@require_scope(Scope.DRIVERS_WRITE)
def step(request: HttpRequest, shift_id: UUID) -> HttpResponse:
    """End a shift now, or cancel a future one; asks for confirmation if rides are left without a shift."""
    by, now = principal_of(request), timezone.now().replace(second=0, microsecond=0)
    record = _visible_shift(shift_id, by)
    action = _CANCEL if request.POST.get("do") == _CANCEL else _END
    form = StepForm(request.POST)
    if not form.is_valid():
        raise Http404
    if action == _END and not record.starts_at < now < record.ends_at:
        form.add_error(None, _("The shift is not in progress."))
        return _page(request, record, error_form=form)
    changes = {"ends_at": now} if action == _END else {"status": Shift.Status.CANCELLED}
    try:
        _amend(record, changes, form, by)
    except RidesLeft as refusal:
        seen = form.seen_ids
        form.require_confirmation(None)
        return _page(
            request, record, error_form=form, pending_step=action, uncovered=_UncoveredRides(refusal.keeps, seen)
        )
    except DomainError as refusal:
        form.refuse(refusal)
        return _page(request, record, error_form=form)
    messages.success(request, _("The shift has ended.") if action == _END else _("The shift is canceled."))
    return redirect(_week_of(record))


@require_POST
@require_scope(Scope.DRIVERS_WRITE)
def pause(request: HttpRequest, shift_id: UUID) -> HttpResponse:
    """Record that the driver of a shift starts or ends a break."""
    by = principal_of(request)
    record = _visible_shift(shift_id, by)
    begins = request.POST.get("on_break") == "on"
    context: dict[str, Any] = {"expected_version": None, "by": by, "at": timezone.now()}
    drivers.amend(driver_id=record.driver_id, changes={"on_break": begins}, **context)
    messages.success(request, _("The driver is on a break.") if begins else _("The driver is back from the break."))
    return redirect("fleet_shift", shift_id)


def _visible_shift(shift_id: UUID, by: Principal) -> Shift:
    rows = Shift.objects.visible_to(by).select_related("driver__provider", "vehicle")
    record = rows.filter(pk=shift_id).first()
    if record is None:
        raise Http404
    return record


def _choices(by: Principal, present: Shift | None = None) -> dict[str, Any]:
    """Return drivers who have not left and vehicles that are not retired, plus those of the present shift."""
    people = Driver.objects.visible_to(by).select_related("provider").order_by("last_name", "first_name", "pk")
    units = Vehicle.objects.visible_to(by).select_related("provider").order_by("unit_number", "pk")
    driver_id, vehicle_id = (present.driver_id, present.vehicle_id) if present else (None, None)
    return {
        "drivers": [driver for driver in people if driver.activation != Activation.INACTIVE or driver.pk == driver_id],
        "vehicles": [
            vehicle for vehicle in units if vehicle.status != VehicleStatus.RETIRED or vehicle.pk == vehicle_id
        ],
    }


def _first(request: HttpRequest, by: Principal) -> dict[str, Any]:
    """Return initial values of a new shift: from the URL parameters, or from the shift whose id is in `copy`."""
    today = timezone.now().astimezone(zone_of(request)).date()
    initial: dict[str, Any] = {"version": 0, "day": request.GET.get("day", today.isoformat())}
    copy_id = uuid_or_none(request.GET.get("copy", ""))
    if copy_id is not None:
        source = _visible_shift(copy_id, by)
        zone = source.driver.provider.timezone
        next_day = source.starts_at.astimezone(ZoneInfo(zone)).date() + _DAY
        initial |= times_of(source, zone) | {"vehicle": str(source.vehicle_id), "day": next_day.isoformat()}
        if request.GET.get("driver") == "same":
            initial["driver"] = str(source.driver_id)
        return initial
    driver_id = uuid_or_none(request.GET.get("driver", ""))
    driver = None if driver_id is None else Driver.objects.visible_to(by).filter(pk=driver_id).first()
    if driver is not None:
        initial |= {"driver": str(driver.pk), "vehicle": str(driver.default_vehicle_id or "")}
    return initial


def _amend(record: Shift, changes: Mapping[str, Any], form: ShiftForm | StepForm, by: Principal) -> None:
    shift_changes.amend(
        shift_id=record.pk,
        changes=changes,
        seen=form.seen_ids,
        expected_version=form.cleaned_data["version"],
        by=by,
        at=timezone.now(),
    )


def _when(record: Shift) -> str:
    zone = ZoneInfo(record.driver.provider.timezone)
    begins, ends = record.starts_at.astimezone(zone), record.ends_at.astimezone(zone)
    return f"{dates.short_day(begins.date())}, {clock(begins)} \N{EN DASH} {clock(ends)} {zone_labels.short(ends)}"


def _week_of(record: Shift) -> str:
    day = record.starts_at.astimezone(ZoneInfo(record.driver.provider.timezone)).date()
    return f"{reverse('fleet_shifts')}?day={day.isoformat()}"


def _page(
    request: HttpRequest,
    record: Shift,
    *,
    form: ShiftForm | None = None,
    error_form: StepForm | None = None,
    pending_step: str = "",
    uncovered: _UncoveredRides | None = None,
) -> HttpResponse:
    """Render a shift; `left` are the rides that the form, or the step in `pending_step`, leaves without a shift."""
    by, now = principal_of(request), timezone.now()
    zone = record.driver.provider.timezone
    if form is None:
        initial = times_of(record, zone) | {
            "driver": str(record.driver_id), "vehicle": str(record.vehicle_id), "version": record.version,
        }  # fmt: skip
        form = ShiftForm(initial=initial, **_choices(by, record))
    count = (
        assigned_rides.for_driver(record.driver_id, by=by)
        .filter(pickup_at__gte=record.starts_at, pickup_at__lt=record.ends_at)
        .count()
    )
    planned = record.status == Shift.Status.PLANNED
    context: dict[str, Any] = {
        "shift": record,
        "form": form,
        "error_form": error_form or form,
        "pending_step": pending_step,
        "name": labels.name_of(record.driver, by),
        "when": _when(record),
        "zone": zone_labels.long_name(zone),
        "planned": planned,
        "begun": record.starts_at <= now,
        "running": planned and record.starts_at <= now < record.ends_at,
        "given": count,
    }
    if uncovered is not None:
        rides = left_without(record, keeps=uncovered.keeps, by=by)
        # Read these ids first: a ride that is added before the next query is shown and needs another confirmation.
        context["seen"] = " ".join(map(str, rides.values_list("pk", flat=True)))
        context |= affected(rides, Owner("drivers", record.driver), by, uncovered.becomes)
    has_errors = bool(form.errors or pending_step or (error_form and error_form.errors))
    return render(request, "fleet/shift.html", context, status=UNPROCESSABLE if has_errors else 200)
