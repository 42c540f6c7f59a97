"""Start and end of delivery workers."""

import re
import threading

import pytest
from celery.signals import worker_shutting_down

from apps.webhooks.services import delivery
from config.celery import app
from tests.serving import ROOT
from tests.webhooks import made


@pytest.mark.parametrize(
    "name", ["deploy/compose.yaml", "deploy/systemd/carelane-deliveries.service", "docs/operations.md"]
)
def test_delivery_workers_are_threads_that_block_no_other(name: str) -> None:
    """A worker process would not be free for a new run before the last answer of its current run."""
    text = re.sub(r'[\[\],"]|\n +', " ", (ROOT / name).read_text())
    commands = [one for one in re.split(r"(?=celery )", text) if re.search(r"^celery .*--queues\s+\S*webhooks", one)]

    assert commands
    for command in commands:
        given = re.search(r"--pool\s+threads\s+--concurrency\s+(\d+)", command)
        assert given is not None
        assert int(given[1]) >= 3


def test_a_worker_that_is_told_to_end_claims_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_is_shutting_down", threading.Event())
    app.loader.import_default_modules()

    worker_shutting_down.send(sender="worker", sig="SIGTERM", how="Warm", exitcode=0)

    assert delivery._is_shutting_down.is_set()
    assert delivery.deliver(rules=made.LOOPBACK) is None
