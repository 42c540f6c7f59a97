"""Phones and contacts of a rider, in the shapes of the API and of the columns."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from apps.organizations.rules.stops import is_e164
from lib.errors import InvalidInput
from lib.messages import gettext_lazy as _

PHONE_KINDS: Final = ("mobile", "home", "work", "other")

_EMPTY_PHONE: Final = {"number": "", "ext": "", "kind": "other"}
_EMPTY_PERSON: Final = {"name": "", "phone": "", "relation": ""}


def normal_phones(phones: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Normalize a list of phones, the preferred one first.

    Raises:
        InvalidInput: a number is not E.164.
    """
    normal = [{**_EMPTY_PHONE, **phone} for phone in phones]
    for position, phone in enumerate(normal):
        _require_e164(phone["number"], f"phones[{position}].number")
    return normal


def normal_caregivers(people: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Normalize the caregivers of a rider, each with `notify`, the event types that they are notified of.

    Raises:
        InvalidInput: a phone is not E.164.
    """
    return [
        {"notify": [], **person, **normal_person(person, path=f"caregivers[{position}]")}
        for position, person in enumerate(people)
    ]


def normal_person(person: Mapping[str, Any], *, path: str) -> dict[str, Any]:
    """Normalize a contact person: name, phone, relation.

    Raises:
        InvalidInput: there is no name, or the phone is not E.164.
    """
    normal = {key: person.get(key, empty) for key, empty in _EMPTY_PERSON.items()}
    if not normal["name"]:
        raise InvalidInput(f"{path}.name", _("%(field)s is required."), detail_code="required")
    _require_e164(normal["phone"], f"{path}.phone")
    return normal


def _require_e164(phone: str, field: str) -> None:
    if not is_e164(phone):
        raise InvalidInput(field, _("%(field)s must be a phone number in E.164 form, such as +13125550140."))
