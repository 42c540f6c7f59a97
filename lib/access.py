"""The caller of a request or task, with its scopes, data scope and PHI level.

A `Principal` is created once per request at the entry point (session, token, command, task) and passed to every query
and service.  Querysets filter by it in `visible_to`, the only place that applies the data scope.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Literal
from uuid import UUID

# Values that an API operation can require instead of a scope.
PUBLIC: Final = "public"  # no token at all: health, the schema
ANY_TOKEN: Final = "any token"  # noqa: S105  # a rule, not a secret


class Phi(IntEnum):
    """How much of a person a principal may see: NONE no identity, LIMITED name and ids for billing, FULL everything."""

    NONE = 0
    LIMITED = 1
    FULL = 2


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request or task.

    `facility_ids` and `provider_ids` are the data scope: None means all, an empty set none.  A ride is in the data
    scope if its facility is in `facility_ids` (or that is None) and, if it has a driver or only `provider_ids` is set,
    its provider is in `provider_ids` (or that is None).  A ride that is offered to a provider is visible to it, too.
    """

    kind: Literal["user", "token", "system"]
    id: UUID | None
    role: str
    scopes: frozenset[str]
    facility_ids: frozenset[UUID] | None = None
    provider_ids: frozenset[UUID] | None = None
    phi: Phi = Phi.NONE
    client_id: UUID | None = None  # the API client a token belongs to
    api_version: str = ""  # the version a token is pinned to
    request_id: str = ""
    ip: str | None = None

    @property
    def actor(self) -> str:
        """Return the caller's name for events and audit rows: `user:<id>`, `token:<id>` or `system`."""
        return f"{self.kind}:{self.id}" if self.id is not None else self.kind

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes

    @property
    def is_bound(self) -> bool:
        """Return whether the data scope is limited to some facilities or providers."""
        return self.facility_ids is not None or self.provider_ids is not None

    def elevated(self, *scopes: str) -> "Principal":
        """Return the same caller without a limited data scope, and with additional `scopes`.

        For consequences that the service carries out itself after a change that the caller may make: the audit trail
        names the caller, and the response shows them nothing of these consequences.
        """
        held_scopes = self.scopes if all(map(self.has_scope, scopes)) else self.scopes | frozenset(scopes)
        return replace(self, facility_ids=None, provider_ids=None, scopes=held_scopes)


class AllScopes(frozenset[str]):
    """A set that contains every scope: for tasks and commands, which the operator runs."""

    def __contains__(self, scope: object) -> bool:
        return True


def system(name: str = "system") -> Principal:
    """Return the principal of tasks and commands: all scopes, unlimited data scope, and the actor `system`."""
    return Principal(kind="system", id=None, role=name, scopes=AllScopes(), phi=Phi.FULL)
