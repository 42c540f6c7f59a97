"""Documentation of a leg that its payer requires, and what drivers forget of it."""

from typing import Any

from apps.demo.booking import payer_of
from apps.demo.dice import Dice, iso
from apps.demo.legs import DemoLeg
from apps.demo.places import PAYERS
from apps.rides.rules.documentation import LegDocumentation, missing_documents

FORGOTTEN = 0.018  # share of legs with something missing at the end


def of_leg(
    dice: Dice, leg: DemoLeg, odometers: dict[str, float], driver_name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns that boarding fills and those that the drop-off fills.

    `odometers` holds the mileage of each vehicle and is updated: the legs of a vehicle must come in order of time.
    """
    _, rule, signers, odometer, _ = PAYERS[payer_of(leg)]
    forgets = dice.hit(FORGOTTEN)
    van = leg.duty.van.id if leg.duty else ""
    driver = driver_name if signers == "both" else ""
    begins = odometers.get(van, 20_000.0) + 2.1
    ends = begins + leg.miles
    odometers[van] = ends
    at_pickup: dict[str, Any] = {}
    at_dropoff: dict[str, Any] = {
        "loaded_miles": round(leg.miles * dice.uniform(0.98, 1.06), 2),
        "loaded_miles_source": dice.choices(("gps", "odometer", "routed"), (82, 12, 6))[0],
        "attestation": {"driverName": driver_name, "at": iso(leg.dropped), "text": "I drove this leg as recorded."},
    }
    signatures = []
    if rule == "both":
        signatures += _signatures(leg, "pickup", leg.boarded, driver)
        at_pickup["signatures"] = [*signatures]
    if rule in ("both", "dropoff"):
        at_the_end = _signatures(leg, "dropoff", leg.dropped, driver)
        signatures += [signature for signature in at_the_end if not forgets or signature["signer"] == "driver"]
    at_dropoff["signatures"] = signatures
    if odometer:
        at_pickup["odometer_start"] = round(begins, 1)
        at_dropoff["odometer_end"] = None if forgets and dice.hit(0.4) else round(ends, 1)
    if leg.person.needs["handoffRequired"]:
        at_dropoff["handoff_name"] = "Front desk" if leg.destination.place else "Family member"
    at_dropoff["missing_documents"] = missing_documents(
        LegDocumentation(
            signature_rule=rule,
            signers=signers,
            odometer_required=odometer,
            signatures=signatures,
            has_odometer_start="odometer_start" in at_pickup,
            has_odometer_end=at_dropoff.get("odometer_end") is not None,
        ),
        arrived_pickup_recorded=True,
    )
    return at_pickup, at_dropoff


def _signatures(leg: DemoLeg, stop: str, at: int, driver: str) -> list[dict[str, str]]:
    """Return the rider's signature, and the driver's after it if the payer requires it."""
    names = {"rider": leg.person.name, "driver": driver}
    return [{"signer": signer, "stop": stop, "name": name, "at": iso(at)} for signer, name in names.items() if name]
