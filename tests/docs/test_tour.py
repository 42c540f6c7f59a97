"""The README's tour, run unchanged against the running service."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from apps.fleet.models import Credential
from apps.rides.models import Ride
from tests.callers import api_with
from tests.fleet.crew import fit_pair
from tests.serving import ROOT, serving

README = ROOT / "README.md"


def tour() -> str:
    found = re.search(r"<!-- tour -->\n```sh\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def test_tour_has_ten_lines() -> None:
    assert len(tour().splitlines()) == 10


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_tour_leads_from_the_token_to_a_completed_ride(tmp_path: Path) -> None:
    fit_pair()
    Credential.objects.update(expires_on=None)  # the service reads the machine's clock
    facts = tmp_path / "var" / "demo.json"
    facts.parent.mkdir()

    with serving() as url:
        facts.write_text(json.dumps({"url": url, "token": api_with().text}))
        run = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", tour()],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert run.returncode == 0, run.stdout + run.stderr
    ride = Ride.objects.get()
    assert ride.status == "completed"
    *_, timeline, feed = [json.loads(line) for line in run.stdout.splitlines() if line]
    assert "ride.completed" in json.dumps(timeline)
    assert set(feed) == {"data", "page"}  # other tests' transactions may still hold the events back
