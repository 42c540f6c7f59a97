"""The minutes a facility has agreed on, and what holds where a ride has no facility.

The defaults are policy, not fact; they are the column defaults of `Facility`, read from there.
"""

from dataclasses import dataclass, fields

from apps.organizations.models import Facility


@dataclass(frozen=True, slots=True)
class ServiceLevels:
    """Minutes, all of them."""

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
    """Read the facility's own minutes, or the defaults where no facility stands behind a ride."""
    if facility is None:
        return DEFAULTS
    return ServiceLevels(**{name: getattr(facility, name) for name in _NAMES})
