"""The models of the fleet."""

from apps.fleet.models.credential import Credential, CredentialQuerySet
from apps.fleet.models.crew import (
    AbsenceReason,
    Activation,
    CapacityConfig,
    Driver,
    Employment,
    Leave,
    LiftType,
    OfProviderQuerySet,
    OutageReason,
    Qualification,
    Shift,
    Vehicle,
    VehicleOutage,
    VehicleStatus,
    VehicleType,
)
from apps.fleet.models.document import Document
from apps.fleet.rules.credentials import CredentialType

__all__ = [
    "AbsenceReason",
    "Activation",
    "CapacityConfig",
    "Credential",
    "CredentialQuerySet",
    "CredentialType",
    "Document",
    "Driver",
    "Employment",
    "Leave",
    "LiftType",
    "OfProviderQuerySet",
    "OutageReason",
    "Qualification",
    "Shift",
    "Vehicle",
    "VehicleOutage",
    "VehicleStatus",
    "VehicleType",
]
