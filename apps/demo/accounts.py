"""Demo users: one person per role, one API token, and the systems that act on the rides."""

import datetime as dt
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction

from apps.accounts.models import ApiClient, ApiToken, User
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.accounts.services import tokens
from apps.demo.dice import DAY, Dice
from apps.organizations.models import Facility, TransportProvider
from lib.access import Principal
from lib.db.bulk_copy import copy_rows

DOMAIN: Final = "demo.example"
API_CLIENT: Final = "Demo"
SYSTEMS: Final = ("Hospital interface engine", "Driver app")  # clients that act on the rides
PEOPLE: Final = (
    (UserRole.ADMIN, "Avery Admin"),
    (UserRole.DISPATCH_SUPERVISOR, "Sam Supervisor"),
    (UserRole.DISPATCHER, "Dana Dispatcher"),
    (UserRole.PLANNER, "Pat Planner"),
    (UserRole.FLEET_ADMIN, "Frankie Fleet"),
    (UserRole.ANALYST, "Alex Analyst"),
    (UserRole.AUDITOR, "Audrey Auditor"),
)


@dataclass(frozen=True, slots=True)
class Actors:
    """Ids of the people by role, and of the systems that act on the rides."""

    people: dict[str, str]
    ehr_client: str
    ehr_token: str
    driver_app_token: str


def email_of(role: UserRole) -> str:
    return f"{role.value.replace('_', '-')}@{DOMAIN}"


def make_actors(seed: int, start: int) -> Actors:
    """Create the people, who cannot log in yet, and two systems whose token text is never known."""
    dice = Dice(seed, "actors")
    people = {role.value: dice.id_at(start) for role, _ in PEOPLE}
    copy_rows(
        User,
        [
            {"id": people[role.value], "email": email_of(role), "name": name, "role": role.value,
             "password": make_password(None), "is_active": True, "created_at": start}
            for role, name in PEOPLE
        ],
    )  # fmt: skip
    ehr, app = dice.id_at(start), dice.id_at(start)
    copy_rows(
        ApiClient,
        [
            {"id": ehr, "name": SYSTEMS[0], "active": True, "created_at": start},
            {"id": app, "name": SYSTEMS[1], "active": True, "created_at": start},
        ],
    )
    rows = [
        _token(dice, start, client, role)
        for client, role in ((ehr, TokenRole.EHR_INTEGRATOR), (app, TokenRole.DISPATCH_PARTNER))
    ]
    copy_rows(ApiToken, rows)
    return Actors(people, ehr, rows[0]["id"], rows[1]["id"])


def _token(dice: Dice, start: int, client: str, role: TokenRole) -> dict[str, Any]:
    """Return the row of an unusable token: its digest is random."""
    return {
        "id": dice.id_at(start),
        "client_id": client,
        "name": "in production",
        "key_id": f"{dice.getrandbits(48):012x}",
        "digest": secrets.token_bytes(32),
        "pepper_id": "none",
        "role": role.value,
        "api_version": settings.API_VERSIONS[-1],
        "phi_level": "full",
        "expires_at": start + 300 * DAY,
        "created_by": "system",
        "created_at": start,
    }


@transaction.atomic
def enable_sign_in(*, by: Principal, at: dt.datetime) -> dict[str, Any]:
    """Set the people's password and issue the token; return the facts that `make run` prints.

    Each call replaces password and token: used if the file with their clear text is lost.
    """
    password = "-".join(secrets.token_hex(3) for _ in range(3))
    hashed = make_password(password)
    User.objects.filter(email__in=[email_of(role) for role, _ in PEOPLE]).update(password=hashed)
    planner = User.objects.get(email=email_of(UserRole.PLANNER))
    planner.facilities.set(Facility.objects.filter(kind="hospital").order_by("name", "id")[:1])
    fleet_admin = User.objects.get(email=email_of(UserRole.FLEET_ADMIN))
    fleet_admin.providers.set(TransportProvider.objects.order_by("name", "id")[:1])
    grant = tokens.Grant(
        role=TokenRole.FULL_ACCESS, name="demo", phi_level="full", expires_at=at + dt.timedelta(days=90)
    )
    issued = tokens.issue(client_name=API_CLIENT, grant=grant, by=by, at=at)
    sign_ins = [{"role": role.value, "email": email_of(role), "password": password} for role, _ in PEOPLE]
    return {"token": issued.text, "signIns": sign_ins}


def _facts_path() -> Path:
    return Path(settings.VAR_DIR) / "demo-accounts.json"


def save_facts(facts: dict[str, Any]) -> None:
    """Write the clear text to a file on this machine that only its owner can read."""
    path = _facts_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(json.dumps(facts, indent=2) + "\n")


def load_facts() -> dict[str, Any] | None:
    """Read the clear text; None if the file does not exist."""
    path = _facts_path()
    if not path.exists():
        return None
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


def delete_facts() -> None:
    """Delete the clear text that belongs to an earlier database."""
    _facts_path().unlink(missing_ok=True)
