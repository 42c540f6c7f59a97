"""Drivers and vehicles are never answered with 304, because some of their data changes without a new version."""

import pytest

from apps.fleet.models import Credential
from tests.callers import TokenClient
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db


def test_record_is_sent_again_when_a_credential_was_rejected(api: TokenClient) -> None:
    driver, vehicle = fit_pair()

    for path, credential in ((f"/api/drivers/{driver.pk}", "mvr"), (f"/api/vehicles/{vehicle.pk}", "insurance")):
        etag = api.get(path)["ETag"]
        Credential.objects.filter(type=credential).update(rejected=True)

        again = api.get(path, headers={"If-None-Match": etag})

        standing = {one["type"]: one["status"] for one in again.json()["credentials"]}
        assert (again.status_code, again["ETag"], standing[credential]) == (200, etag, "rejected")
