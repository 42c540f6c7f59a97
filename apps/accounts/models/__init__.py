"""The models of people, rights and list preferences."""

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
