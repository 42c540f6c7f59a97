"""The `as of` instant of figures is correct during a concurrent refresh of the rollups."""

import datetime as dt
from typing import Any

import pytest

from apps.reporting.api import views
from apps.reporting.models import RollupCheckpoint
from apps.reporting.queries import daily, reports
from apps.reporting.services import rollups
from lib.access import system
from tests.callers import TokenClient
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.golden import MONTH
from tests.reporting.test_api import AS_OF, PERIOD, read


@pytest.mark.parametrize(
    ("path", "module", "reads"),
    [
        (f"facility-kpis?{PERIOD}", reports, "sums"),
        (f"trends?{PERIOD}&kpi=leadTime", reports, "sums"),
        ("daily-summary?date=2026-11-02", daily, "sums"),
        (f"breakdown?{PERIOD}", views, "breakdown"),
    ],
)
def test_as_of_excludes_changes_made_while_reading(
    api: TokenClient, monkeypatch: pytest.MonkeyPatch, path: str, module: Any, reads: str
) -> None:
    legs.write(MONTH[0], legs.cast())
    rollups.refresh(by=system(), at=NOW)
    reading = getattr(module, reads)

    def meanwhile(*given: Any, **named: Any) -> Any:
        found = reading(*given, **named)
        RollupCheckpoint.objects.update(as_of=NOW + dt.timedelta(seconds=30))
        return found

    monkeypatch.setattr(module, reads, meanwhile)

    assert read(api, path)["progress"]["asOf"] == AS_OF
