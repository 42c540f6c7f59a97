"""Old and new values of an edited ride, by field of the API and as much of them as the reader may see."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from apps.riders.rules import accommodation
from apps.rides.rules.disclosure import Disclosure, disclosed

# Columns by field of the API, for each part of a draft.  Secrets and external ids have no values here.
_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "payer": {
        "payerId": "payer_id",
        "programCode": "program_code",
        "authorizationNumber": "authorization_number",
        "authorizationExpires": "authorization_expires_on",
    },
    "notes": {"driver": "driver_notes", "dispatcher": "dispatcher_notes", "facility": "facility_notes"},
}
_PLAIN: Final[Mapping[str, str]] = {
    "pickupTime": "pickup_at",
    "appointmentTime": "appointment_at",
    "schedulingAnchor": "scheduling_anchor",
    "willCall": "will_call",
    "serviceType": "service_type",
    "priority": "priority",
    "pickup": "pickup",
    "dropoff": "dropoff",
    "accommodation": "accommodation",
    "companions": "companions",
    "vehicleTypeRequested": "vehicle_type_requested",
    "discharge": "discharge",
    "dialysis": "dialysis",
    "requestedBy": "requested_by",
}
_DERIVED: Final = frozenset({"overridden", *accommodation.COMPUTED})  # keys of the accommodation


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed field by its path in the API, with both values; they are None for a secret, such as a door code."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ChangedValues:
    """Both values of every changed part in the shape of the API; `secrets` are the paths of changed secrets."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    secrets: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after, "secrets": list(self.secrets)}


def from_json(stored: Mapping[str, Any]) -> ChangedValues:
    """Return the value of `ChangedValues.as_json`."""
    return ChangedValues(stored["before"], stored["after"], tuple(stored["secrets"]))


def values_of(ride: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of a ride's parts; `names` are fields of the API, those without values are left out."""
    values: dict[str, Any] = {}
    for name in names:
        if name in _COLUMNS:
            values[name] = {key: _plain(getattr(ride, column)) for key, column in _COLUMNS[name].items()}
        elif name in _PLAIN:
            values[name] = _plain(getattr(ride, _PLAIN[name]))
    if "accommodation" in values:
        values["accommodation"] = {k: v for k, v in values["accommodation"].items() if k not in _DERIVED}
    return values


def field_changes(values: ChangedValues, to: Disclosure) -> list[FieldChange]:
    """List the fields whose visible values differ, and the changed secrets."""
    before, after = (dict(_leaves(disclosed(shape, to))) for shape in (values.before, values.after))
    changes = [
        FieldChange(path, before.get(path), after.get(path))
        for path in dict.fromkeys([*before, *after])
        if before.get(path) != after.get(path)
    ]
    return changes + [FieldChange(path, None, None) for path in values.secrets]


def _plain(value: Any) -> Any:
    """Convert ids, numbers and times to what JSON holds."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    return dict(value) if isinstance(value, Mapping) else value


def _leaves(shape: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in shape.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        elif value not in (None, "", [], False):
            yield f"{path}{key}", value
