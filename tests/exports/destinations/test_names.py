"""File names mean the same to every program involved."""

import pytest

from apps.exports.destinations.names import check_name, is_folder


@pytest.mark.parametrize("name", ["carelane_completions_2026-11-19_ab12.csv", "a", "9.parquet", "a" * 200])
def test_names_of_files_are_taken(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", "-rf", ".hidden", "..", "a/b", 'a"b', "a b", "a\nb", "a\\b", "a*", "a?", "[a]", "é", "a" * 201, "a\n"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name of a file"):
        check_name(name)


@pytest.mark.parametrize(
    ("folder", "relative", "absolute"),
    [
        ("", True, True),
        ("claims", True, True),
        ("claims/2026 in", True, True),
        ("-x/--y", True, True),
        ("a=b/c+d@e,f", True, True),
        ("/", False, True),
        ("/srv/drop box", False, True),
        ("//srv", False, False),
        ("a//b", False, False),
        ("a/", False, False),
        ("..", False, False),
        ("a/../b", False, False),
        ("a/.", False, False),
        ("...", True, True),
        (" a", False, False),
        ("a ", False, False),
        ('a"b', False, False),
        ("a\\b", False, False),
        ("a*", False, False),
        ("a\nrm b", False, False),
        ("a'b", False, False),
        ("x" * 501, False, False),
    ],
)
def test_folders_are_names_with_slashes_between(folder: str, relative: bool, absolute: bool) -> None:
    assert (is_folder(folder, absolute=False), is_folder(folder, absolute=True)) == (relative, absolute)
