"""The page of all components: for admins, with the sizes and spaces of the tokens."""

import re
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.console.shell.styles import SIZES, SPACES
from tests import factories
from tests.accounts.signed_in import sign_in

STYLES = Path(__file__).resolve().parents[2] / "static" / "console"


@pytest.mark.django_db
def test_styles_are_for_admins(client: Client) -> None:
    opened = set()
    for role in UserRole:
        sign_in(client, factories.UserFactory.create(role=role))
        response = client.get("/console/styles/")
        if response.status_code == 200:
            opened.add(role)
        else:
            assert response.status_code == 403, role

    assert opened == {UserRole.ADMIN}


def test_styles_have_every_size_and_space() -> None:
    tokens = (STYLES / "tokens.css").read_text()

    assert set(re.findall(r"--([ts]\d+):", tokens)) == {*SIZES, *SPACES}


def test_style_sheets_have_no_sizes_and_colors_of_their_own() -> None:
    """Points are for paper.  The admin's style sheet maps the colors of Django's to the tokens."""
    strays = []
    for path in sorted(STYLES.glob("*.css")):
        if path.name in ("tokens.css", "admin-theme.css"):
            continue
        for line in path.read_text().splitlines():
            value = line.partition(":")[2]
            if re.search(r"font(-size)?: .*\d(px|rem|em)", line) or re.search(
                r" (#[0-9a-f]{3,8}\b|(rgb|hsl)a?\()", value
            ):
                strays.append(f"{path.name}: {line.strip()}")

    assert strays == []
