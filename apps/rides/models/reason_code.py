from functools import reduce
from operator import or_

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.rides.rules.lifecycle import ReasonList
from apps.rides.rules.reasons import CODES
from lib.ids import uuid7


def _parent_of_the_list() -> Q:
    return reduce(or_, (Q(reason_list=reasons.value, parent_code__in=codes) for reasons, codes in CODES.items()))


class ReasonCode(models.Model):
    """A reason that the operator added to one of the lists; `parent_code` is the built-in one it counts as."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    reason_list = models.CharField(
        _("reason list"), max_length=11, choices=[(item.value, item.value.replace("_", " ")) for item in ReasonList]
    )
    code = models.CharField(_("code"), max_length=40)
    label = models.CharField(_("label"), max_length=100)
    parent_code = models.CharField(_("parent code"), max_length=40)
    active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("reason code")
        verbose_name_plural = _("reason codes")
        constraints = [
            models.UniqueConstraint(name="reason_code_once", fields=["reason_list", "code"]),
            models.CheckConstraint(name="reason_code_form", condition=Q(code__regex=r"^[a-z][a-z0-9_]*$")),
            models.CheckConstraint(
                name="reason_code_list_known", condition=Q(reason_list__in=[item.value for item in ReasonList])
            ),
            # Fault and figures follow from the built-in code; one that is none of its list has neither.
            models.CheckConstraint(name="reason_code_parent_known", condition=_parent_of_the_list()),
        ]

    def __str__(self) -> str:
        return self.code

    def clean(self) -> None:
        """Refuse a code that counts as none of the built-in ones, or is one: fault and figures follow from those.

        Raises:
            django.core.exceptions.ValidationError: names the field.
        """
        built_in = next((codes for reasons, codes in CODES.items() if reasons == self.reason_list), ())
        if self.parent_code not in built_in:
            raise ValidationError({"parent_code": f"One of: {', '.join(built_in)}."})
        if self.code in built_in:
            raise ValidationError({"code": "That is a built-in one: rides that bear it would count as another."})
