"""A service inside a request needs no savepoint; inside anything else it has one."""

from typing import Any

import pytest
from django.db import transaction

from apps.organizations.models import Payer
from lib.transactions import all_or_nothing, one_transaction

pytestmark = pytest.mark.django_db


class Refused(Exception):
    pass


@one_transaction
def write_and_refuse(name: str) -> None:
    Payer.objects.create(name=name)
    raise Refused


@one_transaction
def write(name: str) -> str:
    return Payer.objects.create(name=name).name


def test_a_service_undoes_what_it_wrote_where_its_caller_goes_on() -> None:
    with transaction.atomic():
        with pytest.raises(Refused):
            write_and_refuse("Prairie")
        write("Lake")

    assert [payer.name for payer in Payer.objects.all()] == ["Lake"]


def test_a_part_of_a_request_that_may_fail_is_undone_alone() -> None:
    with all_or_nothing():
        write("Lake")
        with pytest.raises(Refused), all_or_nothing():
            write_and_refuse("Prairie")
        write("Shore")

    assert {payer.name for payer in Payer.objects.all()} == {"Lake", "Shore"}


def test_a_request_is_undone_as_a_whole() -> None:
    @one_transaction
    def request() -> None:
        write("Lake")
        write_and_refuse("Prairie")

    with pytest.raises(Refused), all_or_nothing():
        request()

    assert not Payer.objects.exists()


def test_a_service_in_a_request_costs_no_savepoint(django_assert_num_queries: Any) -> None:
    with all_or_nothing(), django_assert_num_queries(1):
        assert write("Lake") == "Lake"
    with transaction.atomic(), django_assert_num_queries(3):
        write("Prairie")
