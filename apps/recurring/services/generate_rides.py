"""The generator: orders whose horizon has moved on since they were last looked at, some hundreds at a time."""

import logging
import math
import time
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import DateField, F, Func, Q, Value
from django.db.models.functions import Cast

from apps.recurring.models import StandingOrder, StandingOrderQuerySet, TimeZoneSnapshot
from apps.recurring.rules.recurrence import clock_rules
from apps.recurring.services import conflicts, reconcile_rides
from apps.riders.rules.rider_status import RiderStatus
from lib.access import Principal

log = logging.getLogger(__name__)

AT_ONCE: Final = 200  # orders of one transaction: a second's work, and few enough to go through again


def due(at: datetime) -> StandingOrderQuerySet:
    """List the orders that have not been looked at as far as their horizon reaches by now, longest waiting first.

    Those of riders who have died are left to the watch, which ends them.
    """
    wall = Func(F("timezone"), Value(at), function="timezone")
    through = Func(
        Cast(wall, DateField()), F("generation_horizon_days"), arg_joiner=" + ", template="(%(expressions)s)"
    )
    living = StandingOrder.objects.riding().exclude(rider__status=RiderStatus.DECEASED)
    behind = living.alias(through=Cast(through, DateField()))
    found = behind.filter(Q(generated_through__isnull=True) | Q(generated_through__lt=F("through")))
    return found.order_by(F("generated_through").asc(nulls_first=True), "pk")


def generate(*, by: Principal, at: datetime, seconds: float = math.inf) -> int:
    """Make the rides of every order that is due, and say how many orders that were; after `seconds`, no more are taken.

    Any number of workers may run it: each takes orders that no other has.  An order that cannot be reconciled at all is
    left for the next run, and the others go on.
    """
    until = time.monotonic() + seconds
    done, failed = 0, set[UUID]()
    while taken := _batch(failed, by=by, at=at):
        done += taken
        if time.monotonic() >= until:
            break
    return done


def _batch(failed: set[UUID], *, by: Principal, at: datetime) -> int:
    try:
        return _reconcile(AT_ONCE, failed, by=by, at=at)
    except Exception:  # whatever it is, it is one order's alone: the batch is gone through again one by one
        log.exception("standing orders not reconciled together")
    ids = list(due(at).exclude(pk__in=failed).values_list("pk", flat=True)[:AT_ONCE])
    return sum(_one(order_id, failed, by=by, at=at) for order_id in ids)


def _one(order_id: UUID, failed: set[UUID], *, by: Principal, at: datetime) -> int:
    try:
        return _reconcile(1, failed, only=[order_id], by=by, at=at)
    except Exception:
        log.exception("standing order not reconciled", extra={"standing_order_id": str(order_id)})
        failed.add(order_id)
        return 0


@transaction.atomic
def _reconcile(
    most: int, besides: Collection[UUID], *, only: Collection[UUID] | None = None, by: Principal, at: datetime
) -> int:
    rows = due(at).exclude(pk__in=besides)
    rows = rows if only is None else rows.filter(pk__in=only)
    orders = list(rows.select_for_update(of=("self",), no_key=True, skip_locked=True)[:most])
    conflicts.report(orders, reconcile_rides.reconcile(orders, by=by, at=at), by=by, at=at)
    return len(orders)


def reopen_after_clock_changes(*, at: datetime) -> None:
    """Reopen all orders of zones whose clock rules differ from the known ones, and store the new rules.

    Rules come from the zone data of this process.  Rules that were known once are never news again: two workers with
    different data, as during an upgrade, do not move rides to and fro.  Two queries where nothing is new.
    """
    zones = StandingOrder.objects.riding().order_by("timezone").values_list("timezone", flat=True).distinct()
    current = {(zone, clock_rules(ZoneInfo(zone), at.year)) for zone in zones}
    changed = current - set(TimeZoneSnapshot.objects.values_list("zone", "digest"))
    if not changed:
        return
    with transaction.atomic():
        orders = StandingOrder.objects.riding().filter(timezone__in=[zone for zone, _ in changed])
        orders.update(generated_through=None)
        rows = [TimeZoneSnapshot(zone=zone, digest=digest, seen_at=at) for zone, digest in sorted(changed)]
        TimeZoneSnapshot.objects.bulk_create(rows, ignore_conflicts=True)  # another worker may store the same rules
