"""The service levels of a facility, and the defaults for rides without a facility.

The defaults are policy, not fact; they are read from the column defaults of `Facility`.
"""

from dataclasses import dataclass, fields

from apps.organizations.models import Facility


@dataclass(frozen=True, slots=True)
class ServiceLevels:
    """Service levels, all in minutes."""

    lead_time_minutes: int
    discharge_target_minutes: int
    discharge_max_minutes: int
    will_call_response_minutes: int
    pickup_late_minutes: int
    pickup_early_minutes: int
    arrive_early_minutes: int
    arrive_too_early_minutes: int
    late_cancel_minutes: int
    no_show_wait_minutes: int | None  # None: by kind of pickup, see apps/rides/rules/guards.py


_NAMES = tuple(field.name for field in fields(ServiceLevels))
DEFAULTS = ServiceLevels(**{name: getattr(Facility(), name) for name in _NAMES})


def service_levels(facility: Facility | None) -> ServiceLevels:
    """Return the facility's own service levels; the defaults if a ride has no facility."""
    if facility is None:
        return DEFAULTS
    return ServiceLevels(**{name: getattr(facility, name) for name in _NAMES})
