"""What a completed leg lacks on paper, by the payer's rule (domain.md 4.15; New York's per-leg list, NY1 and NY2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Papers:
    """The payer's wishes and what is there.  `signature_rule` is none, pickup, dropoff or both."""

    signature_rule: str
    odometer_required: bool
    signatures: Sequence[Mapping[str, Any]]
    has_odometer_start: bool
    has_odometer_end: bool
    arrived_pickup_recorded: bool


def missing_documents(papers: Papers) -> list[str]:
    """List what is missing, by name; empty when the leg can be billed."""
    signed = {signature["stop"] for signature in papers.signatures}
    missing = [
        f"{stop}_signature"
        for stop in ("pickup", "dropoff")
        if papers.signature_rule in (stop, "both") and stop not in signed
    ]
    if papers.odometer_required:
        if not papers.has_odometer_start:
            missing.append("odometer_start")
        if not papers.has_odometer_end:
            missing.append("odometer_end")
    if not papers.arrived_pickup_recorded:
        missing.append("arrived_pickup")
    return missing
