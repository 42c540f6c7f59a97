"""Names and needs of riders as text for pages."""

from collections.abc import Mapping
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.riders.models import Rider
from apps.riders.rules.needs import Mobility, Precautions
from lib.access import Phi, Principal
from lib.privacy_mode import initial, shows_initials
from lib.scopes import Scope


def rider_name(rider: Rider, by: Principal) -> str:
    """Return the rider's name if the reader may open the rider's record, else the last characters of the id.

    Initials while privacy mode is on: this function decides it for all pages and fragments.
    """
    if may_name(by) and shows_initials():
        return ", ".join(filter(None, (initial(rider.last_name), initial(rider.first_name))))
    return whole_name(rider, by)


def whole_name(rider: Rider, by: Principal) -> str:
    """Return the rider's name like `rider_name`, ignoring privacy mode: for printed pages and for selecting a rider.

    In these places a mistaken identity does more harm than a visible name.
    """
    if not may_name(by):
        return _("Rider …%(end)s") % {"end": str(rider.pk)[-4:]}
    return f"{rider.last_name}, {rider.first_name}"


def name_beside(name: str) -> str:
    """Return the name of a person shown with a rider, possibly a relative or the rider; initials in privacy mode."""
    return " ".join(filter(None, map(initial, name.split()))) if shows_initials() else name


def may_name(by: Principal) -> bool:
    """Return whether this reader may see names of riders."""
    return by.phi >= Phi.LIMITED and by.has_scope(Scope.RIDERS_READ)


def mobility_label(mobility: str) -> str:
    return capfirst(str(Mobility(mobility).label))


def need_labels(
    needs: Mapping[str, Any], return_mobility: str | None, companions: Mapping[str, Any], by: Principal
) -> list[str]:
    """Return the rider's mobility and, for readers with PHI level FULL, companions and other needs, as texts.

    `needs` is a complete accommodation; `return_mobility` is None without a return trip.
    """
    texts = [mobility_label(needs["mobility"])]
    if return_mobility is not None and return_mobility != needs["mobility"]:
        texts.append(_("back: %(mobility)s") % {"mobility": mobility_label(return_mobility)})
    if by.phi < Phi.FULL:
        return texts
    along = sum(int(companions.get(key) or 0) for key in ("escorts", "attendantsProvided", "children"))
    if along:
        texts.append(ngettext("%(count)s companion", "%(count)s companions", along) % {"count": along})
    flags = (
        (companions.get("serviceAnimal") or needs["serviceAnimal"], _("service animal")),
        (needs["oxygen"]["uses"], _("oxygen")),
        (needs["bariatric"], _("bariatric")),
        (needs["stairs"]["secondPerson"], _("second person")),
        (needs["precautions"] != Precautions.NONE, _("infection precautions")),
    )
    return texts + [word for flag, word in flags if flag]
