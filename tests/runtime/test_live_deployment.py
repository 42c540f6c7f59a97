"""Process of the streams, as shipped: the same in every deployment, and reached only by its address."""

import re
import shlex
from pathlib import Path

import pytest
from django.urls import reverse

ROOT = Path(__file__).resolve().parent.parent.parent


def _command(name: str) -> list[str]:
    text = (ROOT / name).read_text().replace("\n", " ")
    found = re.search(r"uvicorn[, ]+(config\.asgi[^\]|`]*?)(?:\]|`| TimeoutStopSec)", text)
    assert found is not None
    return shlex.split(found.group(1).replace(",", " "))


@pytest.mark.parametrize(
    "name",
    ["deploy/compose.yaml", "deploy/systemd/carelane-live.service", "docs/operations.md", "lib/local_run/run.py"],
)
def test_streams_are_served_so_that_they_end_with_the_process(name: str) -> None:
    text = (ROOT / name).read_text()

    assert re.search(r"--timeout-graceful-shutdown[, \"]+3", text), "streams do not end by themselves"
    assert re.search(r"--lifespan[, \"]+off", text)


@pytest.mark.parametrize("name", ["deploy/compose.yaml", "deploy/systemd/carelane-live.service", "docs/operations.md"])
def test_streams_have_a_process_of_their_own(name: str) -> None:
    command = _command(name)

    assert command[0] == "config.asgi:application"
    assert command[command.index("--port") + 1] == "8001"
    assert "--no-proxy-headers" in command  # the service counts its proxies itself


def test_proxy_sends_streams_and_nothing_else_to_that_process() -> None:
    proxy = (ROOT / "deploy" / "Caddyfile").read_text()

    handled = re.findall(r"handle ?(\S*) \{\n\t\timport service \{\$(\w+):127\.0\.0\.1:(\d+)\}", proxy)

    assert handled == [(reverse("live"), "LIVE_UPSTREAM", "8001"), ("", "UPSTREAM", "8000")]
