"""The answer to a change of a ride that is only previewed."""

from collections.abc import Iterable
from typing import Any

from apps.rides.rules.change_values import field_changes
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.services.edit_checks import violation_details
from apps.rides.services.editing import EditPreview
from lib.access import Principal
from lib.api.fields import instant_text
from lib.errors import Detail


def shape_of(preview: EditPreview, by: Principal) -> dict[str, Any]:
    """Return the preview in the shape of `EditPreviewOut`, with values at the caller's PHI level."""
    ride, promised = preview.ride, preview.ride.promised_pickup_by
    return {
        "rideId": str(ride.pk),
        "changed": preview.changed,
        "changes": [
            {"field": item.field, "before": item.before, "after": item.after}
            for item in field_changes(preview.values, disclosure_of(by))
        ],
        "pickupTime": instant_text(ride.pickup_at),
        "pickupWindow": {"start": instant_text(ride.window_starts_at), "end": instant_text(ride.window_ends_at)},
        "promisedPickupBy": None if promised is None else instant_text(promised),
        "driver": _driver(preview),
        "returnLegs": [
            {
                "rideId": str(leg.ride.pk),
                "pickupTime": instant_text(leg.ride.pickup_at),
                "newPickupTime": instant_text(leg.pickup_at),
                "moves": leg.is_moved,
                "losesDriver": leg.loses_driver,
            }
            for leg in preview.later_legs
        ],
        "overlappingRideIds": [str(pk) for pk in preview.overlapping_ids],
        "approval": {"required": bool(preview.questions), "reasons": _details(preview.questions)},
        "events": [{"rideId": str(pk), "type": type_} for pk, type_ in preview.events],
    }


def _driver(preview: EditPreview) -> dict[str, Any] | None:
    if preview.before.driver_id is None:
        return None
    best, driver_id = preview.best, preview.ride.driver_id
    return {
        "driverId": None if driver_id is None else str(driver_id),
        "fits": driver_id is not None and not preview.violations,
        "violations": _details(violation_details(preview.violations)),
        "best": None
        if best is None
        else {"driverId": str(best.driver_id), "vehicleId": str(best.vehicle_id), "driverName": best.driver_name},
    }


def _details(details: Iterable[Detail]) -> list[dict[str, Any]]:
    return [detail.as_json() for detail in details]
