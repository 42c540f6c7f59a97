"""Names on screens in privacy mode."""

import pytest

from lib.privacy_mode import initial, initials_alone, shows_initials


@pytest.mark.parametrize(
    ("name", "shown"), [("Wilson", "W."), ("o'Neil", "O."), ("  (Ana)", "A."), ("Ñandú", "Ñ."), ("", ""), ("--", "")]
)
def test_name_is_shortened_to_its_first_letter(name: str, shown: str) -> None:
    assert initial(name) == shown


def test_privacy_mode_ends_with_what_it_was_wanted_for() -> None:
    assert not shows_initials()
    with initials_alone(True):
        assert shows_initials()
        with initials_alone(False):
            assert not shows_initials()
        assert shows_initials()
    assert not shows_initials()
