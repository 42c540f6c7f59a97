"""The tables of people and their rights, by topic."""

from apps.accounts.models.lists import ListLook, SavedView, SharedWith
from apps.accounts.models.rights import (
    Alert,
    AlertQuerySet,
    ApiClient,
    ApiToken,
    ApiTokenQuerySet,
    AuditEntry,
    AuditSeal,
    IdempotencyRecord,
    User,
)

__all__ = [
    "Alert",
    "AlertQuerySet",
    "ApiClient",
    "ApiToken",
    "ApiTokenQuerySet",
    "AuditEntry",
    "AuditSeal",
    "IdempotencyRecord",
    "ListLook",
    "SavedView",
    "SharedWith",
    "User",
]
