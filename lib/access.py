"""Who is asking, and what lies inside their reach.

A `Principal` is made once per request at the door (session, token, command, task) and handed to every query and
service; querysets narrow themselves by it in `visible_to`, the one choke point of data scope.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Literal
from uuid import UUID

# What an operation of the API may ask for instead of a scope.
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

    `facility_ids` and `provider_ids` are the data scope: None reaches all of them, an empty set none.  A ride is in
    reach when its facility is in `facility_ids` (or that is None) and, where it has a driver, or `provider_ids` alone
    is set, its provider is in `provider_ids` (or that is None).  One that is offered to a provider is shown to it, too.
    """

    kind: Literal["user", "token", "system"]
    id: UUID | None
    role: str
    scopes: frozenset[str]
    facility_ids: frozenset[UUID] | None = None
    provider_ids: frozenset[UUID] | None = None
    phi: Phi = Phi.NONE
    client_id: UUID | None = None  # the API client a token belongs to
    api_version: str = ""  # the one a token is pinned to
    request_id: str = ""
    ip: str | None = None

    @property
    def actor(self) -> str:
        """Name the caller in events and audit rows: `user:<id>`, `token:<id>` or `system`."""
        return f"{self.kind}:{self.id}" if self.id is not None else self.kind

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes

    @property
    def is_bound(self) -> bool:
        """Say whether the caller reaches some facilities or providers only."""
        return self.facility_ids is not None or self.provider_ids is not None

    def elevated(self, *scopes: str) -> "Principal":
        """Give the same caller without bounds of reach, and with `scopes` besides.

        For what the service does by itself because of a change the caller may make: the trail names the caller, and
        the answer shows them nothing of it.
        """
        held = self.scopes if all(map(self.has_scope, scopes)) else self.scopes | frozenset(scopes)
        return replace(self, facility_ids=None, provider_ids=None, scopes=held)


class AllScopes(frozenset[str]):
    """A set that holds every scope: for tasks and commands, which the operator runs."""

    def __contains__(self, scope: object) -> bool:
        return True


def system(name: str = "system") -> Principal:
    """Make the principal of tasks and commands: it reaches everything, and says so in the actor."""
    return Principal(kind="system", id=None, role=name, scopes=AllScopes(), phi=Phi.FULL)
