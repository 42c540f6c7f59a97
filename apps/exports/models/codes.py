from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Payer
from lib.choices import TextChoices
from lib.ids import uuid7


class CodedItem(TextChoices):
    """A billable item of a ride."""

    AMBULATORY = "ambulatory", _("trip, ambulatory")
    WHEELCHAIR = "wheelchair", _("trip, wheelchair van")
    STRETCHER = "stretcher", _("trip, stretcher van")
    BLS = "bls", _("trip, BLS ambulance")
    MILEAGE_AMBULATORY = "mileage_ambulatory", _("mileage, ambulatory")
    MILEAGE_WHEELCHAIR = "mileage_wheelchair", _("mileage, wheelchair van")
    MILEAGE_STRETCHER = "mileage_stretcher", _("mileage, stretcher van")
    MILEAGE_BLS = "mileage_bls", _("mileage, BLS ambulance")
    ATTENDANT = "attendant", _("Attendant")
    WAITING = "waiting", _("waiting time")


class SuggestedCode(models.Model):
    """The HCPCS code that exports suggest for an item, for one payer or for all payers without a code of their own.

    Only a suggestion: the biller decides.  An empty code suggests nothing.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    item = models.CharField(_("item"), max_length=18, choices=CodedItem)
    payer = models.ForeignKey(Payer, models.CASCADE, null=True, blank=True, related_name="+", verbose_name=_("payer"))
    code = models.CharField(_("HCPCS code"), max_length=5, blank=True)

    class Meta:
        verbose_name = _("HCPCS code")
        verbose_name_plural = _("HCPCS codes")
        constraints = [
            models.CheckConstraint(name="suggested_code_item_known", condition=Q(item__in=CodedItem.values)),
            models.CheckConstraint(
                name="suggested_code_form", condition=Q(code="") | Q(code__regex=r"^[A-V][0-9]{4}$")
            ),
            models.UniqueConstraint(name="suggested_code_once", fields=["item", "payer"], nulls_distinct=False),
        ]

    def __str__(self) -> str:
        return f"suggested code {self.pk}"
