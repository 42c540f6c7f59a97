"""Canaries: unique strings that each stand in one row of one side; an answer that contains one shows that row."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import models

from apps.organizations.rules import stops

CanaryKind = Literal["place", "person", "fleet", "access"]

# Text columns with codes, zones or languages, or that a constraint ties to another column: not filled.
KEPT = {
    "timezone",
    "language",
    "verified_by",
    "reason_code",
    "occurrence_key",
    "occurrence_state",
    "api_version",
    "key_id",
    "pepper_id",
    "activation_changed_by",
    "revoked_reason",
    "return_mobility",
}
SHORTEST = 7  # minimum column length of a canary, in characters


@dataclass(frozen=True, slots=True)
class Canary:
    """A unique lower-case text and its location, such as `rider.last_name` or `pickup.addressLine1`."""

    text: str
    kind: CanaryKind
    label: str


@dataclass
class Canaries:
    """Canaries of the rows of one side; `mark` distinguishes the sides."""

    mark: str
    made: list[Canary] = field(default_factory=list)

    def text(self, kind: CanaryKind, label: str) -> str:
        return self._keep(f"z{self.mark}{len(self.made):04}x", kind, label)

    def phone(self, kind: CanaryKind, label: str) -> str:
        digits = {"a": 1, "b": 2}[self.mark]
        return self._keep(f"+131266{digits}{len(self.made):04}", kind, label)

    def day(self, kind: CanaryKind, label: str) -> dt.date:
        first = dt.date({"a": 1921, "b": 1938}[self.mark], 1, 1)
        return dt.date.fromisoformat(
            self._keep((first + dt.timedelta(days=len(self.made))).isoformat(), kind, label),
        )

    def _keep(self, text: str, kind: CanaryKind, label: str) -> str:
        self.made.append(Canary(text, kind, label))
        return text

    def fill(self, row: models.Model, kind: CanaryKind, **columns: Any) -> Any:
        """Put a canary into every free-text column of the row, set the given columns, and save it."""
        name = row._meta.model_name
        for column in row._meta.concrete_fields:
            if _is_free_text(column):
                setattr(row, column.name, self._value(column.name, kind, f"{name}.{column.name}"))
        for column_name, value in columns.items():
            setattr(row, column_name, value)
        row.save()
        return row

    def _value(self, column: str, kind: CanaryKind, label: str) -> str:
        if column.endswith("phone"):
            return self.phone(kind, label)
        text = self.text(kind, label)
        return {"email": f"{text}@example.org", "photo_url": f"https://example.org/{text}"}.get(column, text)

    def stop(self, kind: CanaryKind, label: str, **keys: Any) -> dict[str, Any]:
        """Return a complete stop with a canary in every text."""
        shape = stops.normal({})
        for key in stops.MAX_LENGTHS:
            if key in shape:
                shape[key] = self.text(kind, f"{label}.{key}")
        contact = {key: self.text(kind, f"{label}.contact.{key}") for key in ("name", "role", "ext")}
        shape["contact"] = contact | {"phone": self.phone(kind, f"{label}.contact.phone")}
        return {**shape, "lat": 41.9071, "lng": -87.6722, **keys}

    def person(self, kind: CanaryKind, label: str, *keys: str) -> dict[str, Any]:
        """Return an object of texts and a phone number."""
        return {
            key: self.phone(kind, f"{label}.{key}")
            if key.lower().endswith("phone")
            else self.text(kind, f"{label}.{key}")
            for key in keys
        }

    def of(self, kinds: Iterable[CanaryKind]) -> list[Canary]:
        wanted = set(kinds)
        return [one for one in self.made if one.kind in wanted]


def _is_free_text(column: Any) -> bool:
    return (
        isinstance(column, (models.CharField, models.TextField))
        and not column.primary_key
        and not column.choices
        and (column.max_length is None or column.max_length >= SHORTEST)
        and column.name not in KEPT
    )


def found(texts: Iterable[Canary], answer: bytes) -> list[Canary]:
    """Return the canaries that an answer contains, ignoring case."""
    haystack = answer.decode(errors="replace").lower()
    return [one for one in texts if one.text in haystack]
