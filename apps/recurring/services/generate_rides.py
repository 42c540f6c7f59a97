"""The generator: reconciles orders whose horizon has moved since their last run, in batches."""

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

BATCH_SIZE: Final = 200  # orders of one transaction: about a second, and few enough to repeat one by one


def due(at: datetime) -> StandingOrderQuerySet:
    """List the orders that are not generated through their current horizon, longest waiting first.

    Orders of deceased riders are excluded; `order_monitor` ends them.
    """
    wall = Func(F("timezone"), Value(at), function="timezone")
    through = Func(
        Cast(wall, DateField()), F("generation_horizon_days"), arg_joiner=" + ", template="(%(expressions)s)"
    )
    living = StandingOrder.objects.riding().exclude(rider__status=RiderStatus.DECEASED)
    behind = living.alias(through=Cast(through, DateField()))
    due_orders = behind.filter(Q(generated_through__isnull=True) | Q(generated_through__lt=F("through")))
    return due_orders.order_by(F("generated_through").asc(nulls_first=True), "pk")


def generate(*, by: Principal, at: datetime, seconds: float = math.inf) -> int:
    """Reconcile all due orders and return their number; after `seconds`, no further batch is started.

    Several workers can run at once, each with orders that the others have not locked.  An order that fails stays due,
    and the others continue.
    """
    until = time.monotonic() + seconds
    done, failed = 0, set[UUID]()
    while count := _batch(failed, by=by, at=at):
        done += count
        if time.monotonic() >= until:
            break
    return done


def _batch(failed: set[UUID], *, by: Principal, at: datetime) -> int:
    try:
        return _reconcile(BATCH_SIZE, failed, by=by, at=at)
    except Exception:  # any error of one order: repeat the batch one by one to isolate it
        log.exception("standing orders not reconciled together")
    ids = list(due(at).exclude(pk__in=failed).values_list("pk", flat=True)[:BATCH_SIZE])
    return sum(_reconcile_one(order_id, failed, by=by, at=at) for order_id in ids)


def _reconcile_one(order_id: UUID, failed: set[UUID], *, by: Principal, at: datetime) -> int:
    try:
        return _reconcile(1, failed, only=[order_id], by=by, at=at)
    except Exception:
        log.exception("standing order not reconciled", extra={"standing_order_id": str(order_id)})
        failed.add(order_id)
        return 0


@transaction.atomic
def _reconcile(
    limit: int, excluded: Collection[UUID], *, only: Collection[UUID] | None = None, by: Principal, at: datetime
) -> int:
    rows = due(at).exclude(pk__in=excluded)
    rows = rows if only is None else rows.filter(pk__in=only)
    orders = list(rows.select_for_update(of=("self",), no_key=True, skip_locked=True)[:limit])
    conflicts.report(orders, reconcile_rides.reconcile(orders, by=by, at=at), by=by, at=at)
    return len(orders)


def reopen_after_clock_changes(*, at: datetime) -> None:
    """Make all orders of zones with new clock rules due again, and store these rules.

    The rules are those in the zone data of this process.  Rules that were stored once are never new again, so that two
    workers with different zone data, as during an upgrade, do not move rides back and forth.  Two queries if there are
    no new rules.
    """
    zones = StandingOrder.objects.riding().order_by("timezone").values_list("timezone", flat=True).distinct()
    current = {(zone, clock_rules(ZoneInfo(zone), at.year)) for zone in zones}
    changed = current - set(TimeZoneSnapshot.objects.values_list("zone", "digest"))
    if not changed:
        return
    with transaction.atomic():
        orders = StandingOrder.objects.riding().filter(timezone__in=[zone for zone, _digest in changed])
        orders.update(generated_through=None)
        rows = [TimeZoneSnapshot(zone=zone, digest=digest, seen_at=at) for zone, digest in sorted(changed)]
        TimeZoneSnapshot.objects.bulk_create(rows, ignore_conflicts=True)  # another worker may store the same rules
