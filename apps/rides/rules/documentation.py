"""What a leg lacks on paper, by the payer's rule (New York's per-leg list, NY1 and NY2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# Whose signatures the payer asks for at a stop, by what the missing one is called after the stop; and which signers
# each takes.  A facility, such as a nurse for a patient who cannot, signs in the rider's place, never in the driver's.
_RIDER: Final = frozenset({"rider", "facility"})
_DRIVER: Final = frozenset({"driver"})
_SIGNED_BY: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "any": {"signature": _RIDER | _DRIVER},
    "rider": {"signature_rider": _RIDER},
    "driver": {"signature_driver": _DRIVER},
    "both": {"signature_rider": _RIDER, "signature_driver": _DRIVER},
}
_READ_AT: Final = {"pickup": "odometer_start", "dropoff": "odometer_end"}


@dataclass(frozen=True, slots=True)
class LegDocumentation:
    """The payer's wishes and what is there.

    `signature_rule` is none, pickup, dropoff or both; `signers` any, rider, driver or both, at each of these stops.
    """

    signature_rule: str
    signers: str
    odometer_required: bool
    signatures: Sequence[Mapping[str, Any]]
    has_odometer_start: bool
    has_odometer_end: bool


def missing_at(stop: str, documentation: LegDocumentation) -> list[str]:
    """List the documentation that the payer requires at "pickup" or "dropoff" and that is missing, signatures first.

    "pickup_signature" if any signer will do, else "pickup_signature_rider" (a facility may sign for the rider) and
    "pickup_signature_driver"; then "odometer_start".  The same for the drop-off, with "odometer_end".
    """
    missing = []
    if documentation.signature_rule in (stop, "both"):
        signers = {signature["signer"] for signature in documentation.signatures if signature["stop"] == stop}
        missing += [
            f"{stop}_{name}" for name, accepted in _SIGNED_BY[documentation.signers].items() if not signers & accepted
        ]
    is_read = documentation.has_odometer_start if stop == "pickup" else documentation.has_odometer_end
    if documentation.odometer_required and not is_read:
        missing.append(_READ_AT[stop])
    return missing


def missing_documents(documentation: LegDocumentation, *, arrived_pickup_recorded: bool) -> list[str]:
    """List what a completed leg lacks, by name, signatures first; empty when the leg can be billed."""
    missing = [*missing_at("pickup", documentation), *missing_at("dropoff", documentation)]
    missing.sort(key=lambda name: name in _READ_AT.values())
    return [*missing, *([] if arrived_pickup_recorded else ["arrived_pickup"])]
