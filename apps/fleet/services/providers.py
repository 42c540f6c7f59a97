"""The transport provider of fleet records."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.organizations.models import HomeBase, TransportProvider
from lib.access import Principal
from lib.errors import InvalidInput


def provider_in_reach(provider_id: UUID, by: Principal) -> TransportProvider:
    """Return a provider inside the caller's data scope.

    Raises:
        InvalidInput: it does not exist or is outside the data scope; the error does not reveal which.
    """
    reachable = by.provider_ids is None or provider_id in by.provider_ids
    provider = TransportProvider.objects.filter(pk=provider_id).first() if reachable else None
    if provider is None:
        raise InvalidInput("providerId", _("There is no such transport provider."))
    return provider


def check_home_base(home_base_id: UUID | None, provider_id: UUID) -> None:
    """Check that the home base, if not None, belongs to the provider.

    Raises:
        InvalidInput: it does not, or does not exist.
    """
    if home_base_id is None:
        return
    if not HomeBase.objects.filter(pk=home_base_id, provider_id=provider_id).exists():
        raise InvalidInput("homeBaseId", _("The provider has no such garage."))
