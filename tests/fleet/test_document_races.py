"""Two concurrent uploads to one credential: its limit of scans holds, and no file is stored twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from apps.fleet.models import Credential, Document
from apps.fleet.services import documents
from lib.access import system
from tests import factories
from tests.fleet.scans import PDF
from tests.locks import wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


def _add(credential: Credential, number: int) -> Document:
    data = PDF.replace(b"/Root", b"/Root" + b" " * number)
    return documents.add(credential_id=credential.pk, data=data, size=len(data), by=system(), at=factories.NOW)


def _two_at_once(credential: Credential, first: int, second: int) -> Document:
    def other() -> Document:
        try:
            return _add(credential, second)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            _add(credential, first)
            waiting = pool.submit(other)
            wait_until_somebody_waits()
        return waiting.result(timeout=30)


def test_the_last_place_goes_to_one_of_two() -> None:
    credential = factories.CredentialFactory.create()
    for number in range(documents.MOST - 1):
        _add(credential, number)

    with pytest.raises(documents.TooManyDocuments):
        _two_at_once(credential, 20, 21)

    assert Document.objects.count() == documents.MOST


def test_one_file_sent_twice_at_once_is_one_scan() -> None:
    credential = factories.CredentialFactory.create()

    found = _two_at_once(credential, 1, 1)

    assert Document.objects.get().pk == found.pk
