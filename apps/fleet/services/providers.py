"""Whose fleet a record belongs to."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.organizations.models import HomeBase, TransportProvider
from lib.access import Principal
from lib.errors import InvalidInput


def provider_in_reach(provider_id: UUID, by: Principal) -> TransportProvider:
    """Read a provider inside the caller's data scope.

    Raises:
        InvalidInput: there is none, or it lies outside: the two are told apart nowhere.
    """
    reachable = by.provider_ids is None or provider_id in by.provider_ids
    provider = TransportProvider.objects.filter(pk=provider_id).first() if reachable else None
    if provider is None:
        raise InvalidInput("providerId", _("There is no such transport provider."))
    return provider


def check_home_base(home_base_id: UUID | None, provider_id: UUID) -> None:
    """See that a home base, where one is named, is the provider's.

    Raises:
        InvalidInput: it is not, or there is none.
    """
    if home_base_id is None:
        return
    if not HomeBase.objects.filter(pk=home_base_id, provider_id=provider_id).exists():
        raise InvalidInput("homeBaseId", _("The provider has no such home base."))
