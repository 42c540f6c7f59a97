"""Labels of a ride's service type and addresses on screens and printed pages."""

from collections.abc import Mapping
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.rides.labels import stop_name
from apps.rides.models import Ride
from apps.rides.rules import disclosure
from apps.rides.rules.disclosure import Disclosure


def place(stop: Mapping[str, Any], to: Disclosure) -> str:
    """Return a short label of a stop within the reader's disclosure: its name, else its street, else its city."""
    return stop_name(disclosure.stop(stop, to)) or _("Place not shown")


def service(ride: Ride) -> str:
    return capfirst(ride.get_service_type_display())
