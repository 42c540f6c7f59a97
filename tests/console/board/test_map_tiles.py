"""The base map: one PMTiles file, served by byte ranges."""

import tracemalloc
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from apps.accounts.rules.roles import UserRole
from tests import factories
from tests.accounts.signed_in import sign_in

URL = "/console/board/map.pmtiles"
CONTENT = bytes(range(256)) * 4
PART = {"Range": "bytes=0-9"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def tiles(settings: LazySettings, tmp_path: Path) -> Path:
    path = tmp_path / "city.pmtiles"
    path.write_bytes(CONTENT)
    settings.MAP_TILES = str(path)
    return path


@pytest.fixture
def desk(client: Client) -> Client:
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    return client


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [("bytes=0-126", 0, 126), ("bytes=1000-1023", 1000, 1023), ("bytes=1000-9999", 1000, 1023)],
)
def test_a_range_of_the_file_is_returned(desk: Client, tiles: Path, wanted: str, first: int, last: int) -> None:
    answer = desk.get(URL, headers={"Range": wanted})

    assert (answer.status_code, answer.content) == (206, CONTENT[first : last + 1])
    assert answer["Content-Range"] == f"bytes {first}-{last}/1024"


@pytest.mark.parametrize(
    "wanted", ["bytes=1024-1030", "bytes=9-3", "bytes=-5", "bytes=0-", "bytes=0-1,5-6", "pages=0-1", ""]
)
def test_other_ranges_are_refused_with_the_size(desk: Client, tiles: Path, wanted: str) -> None:
    answer = desk.get(URL, headers={"Range": wanted})

    assert (answer.status_code, answer["Content-Range"]) == (416, "bytes */1024")


def test_a_large_file_is_read_by_ranges(desk: Client, tiles: Path) -> None:
    with tiles.open("r+b") as file:
        file.truncate(200 << 20)

    tracemalloc.start()
    try:
        answer = desk.get(URL, headers={"Range": "bytes=209000000-209016383"})
        whole = desk.get(URL, headers={"Range": f"bytes=0-{200 << 20}"})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (answer.status_code, len(answer.content), whole.status_code) == (206, 16384, 416)
    assert peak < 5 << 20


def test_a_replaced_file_has_another_etag(desk: Client, tiles: Path) -> None:
    before = desk.get(URL, headers=PART)["ETag"]
    tiles.write_bytes(CONTENT * 2)

    assert desk.get(URL, headers=PART)["ETag"] != before


@pytest.mark.parametrize("path", ["", ".", "missing.pmtiles"])
def test_without_a_file_there_is_no_base_map(desk: Client, settings: LazySettings, tmp_path: Path, path: str) -> None:
    settings.MAP_TILES = str(tmp_path / path) if path else ""

    assert desk.get(URL, headers=PART).status_code == 404


def test_the_base_map_is_for_people_who_see_the_board(client: Client, tiles: Path) -> None:
    sign_in(client, factories.UserFactory.create(role=UserRole.ANALYST))

    assert client.get(URL).status_code == 403
