"""The figures of version kpi-1: what each one asks, and which legs it counts.

Every figure that leaves the service is one of these: the API, pages, exports and docs are made of this table.  What a
figure leaves out stands beside it by reason, and for each share of legs the denominator and the reasons together are
all legs there are.
"""

from collections.abc import Mapping
from typing import Final

from apps.reporting.rules.defining import Definition
from apps.reporting.rules.kpis_of_care import OF_CARE
from apps.reporting.rules.kpis_of_service import OF_SERVICE
from apps.reporting.rules.kpis_of_time import OF_TIME

DEFINITIONS: Final[tuple[Definition, ...]] = (*OF_SERVICE, *OF_TIME, *OF_CARE)
BY_KEY: Final[Mapping[str, Definition]] = {one.key: one for one in DEFINITIONS}
