"""The tables of people and their rights, by topic."""

from apps.accounts.models.lists import ListPreferences, SavedView, SharedWith
from apps.accounts.models.rights import (
    Alert,
    AlertQuerySet,
    ApiClient,
    ApiToken,
    ApiTokenQuerySet,
    IdempotencyRecord,
    User,
)

__all__ = [
    "Alert",
    "AlertQuerySet",
    "ApiClient",
    "ApiToken",
    "ApiTokenQuerySet",
    "IdempotencyRecord",
    "ListPreferences",
    "SavedView",
    "SharedWith",
    "User",
]
