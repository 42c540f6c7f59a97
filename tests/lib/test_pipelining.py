"""Statements of a pipeline run while Python goes on, and what they say against is heard all the same."""

import time

import pytest
from django.db import IntegrityError, connection, transaction

from apps.organizations.models import Payer
from lib.pipelining import pipelined
from tests import factories

pytestmark = pytest.mark.real_clock
LONG = 0.5  # seconds


@pytest.mark.django_db
def test_nobody_waits_for_a_statement_before_the_end() -> None:
    began = time.perf_counter()

    with pipelined(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [LONG])
        sent = time.perf_counter() - began

    assert sent < LONG / 2
    assert time.perf_counter() - began >= LONG


@pytest.mark.django_db(transaction=True)
def test_refusal_of_one_statement_undoes_them_all() -> None:
    first = factories.PayerFactory.create(name="First")
    second = factories.PayerFactory.create(name="Second")

    with pytest.raises(IntegrityError):
        _rename_and_clash(first, second)

    assert set(Payer.objects.values_list("name", flat=True)) == {"First", "Second"}


@transaction.atomic
def _rename_and_clash(first: Payer, second: Payer) -> None:
    with pipelined(), connection.cursor() as cursor:
        cursor.execute("UPDATE organizations_payer SET name = 'Third' WHERE id = %s", [second.pk])
        cursor.execute("UPDATE organizations_payer SET id = %s WHERE id = %s", [first.pk, second.pk])
