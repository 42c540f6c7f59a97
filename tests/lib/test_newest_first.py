"""Pages of rows, newest first."""

from typing import Any

import pytest

from apps.accounts.models import ApiClient
from lib.newest_first import page_of, uuid_or_none
from tests import factories


@pytest.mark.django_db
def test_pages_follow_each_other_without_a_gap_or_a_repeat() -> None:
    made = [factories.ApiClientFactory.create() for _ in range(5)]

    first = page_of(ApiClient.objects.all(), "", size=2)
    second = page_of(ApiClient.objects.all(), str(first.older), size=2)
    third = page_of(ApiClient.objects.all(), str(second.older), size=2)

    assert first.rows + second.rows + third.rows == made[::-1]
    assert third.older is None


@pytest.mark.django_db
def test_page_that_is_just_full_is_the_last() -> None:
    factories.ApiClientFactory.create_batch(2)

    assert page_of(ApiClient.objects.all(), "nonsense", size=2).older is None


@pytest.mark.parametrize("text", ["", "nonsense", None, 7])
def test_what_is_no_id_is_none(text: Any) -> None:
    assert uuid_or_none(text) is None
