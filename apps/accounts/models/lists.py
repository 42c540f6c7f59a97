"""How people want to see lists of the console."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models.rights import User
from lib.choices import TextChoices
from lib.ids import uuid7


class SharedWith(TextChoices):
    """Who sees a saved view besides its owner."""

    NOBODY = "", _("nobody")
    ROLE = "role", _("everybody of the owner's role")
    EVERYBODY = "all", _("everybody who sees the list")


class SavedView(models.Model):
    """A list as its owner wants to see it, who alone renames, shares and removes it: filters under a name."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="saved_views", verbose_name=_("user"))
    page = models.CharField(_("page"), max_length=30)  # the URL name of the list
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(
        _("query"), max_length=500, blank=True
    )  # codes and ids, as the page's own filter spells them
    # The usual is the database's, too: an older release saves views meanwhile.
    shared_with = models.CharField(
        _("shared with"), max_length=8, blank=True, choices=SharedWith, default="", db_default=""
    )
    created_at = models.DateTimeField(_("created at"))

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        constraints = [
            models.UniqueConstraint(name="saved_view_name_once", fields=["user", "page", "name"]),
            models.CheckConstraint(name="saved_view_shared_known", condition=Q(shared_with__in=SharedWith.values)),
        ]

    def __str__(self) -> str:
        return f"saved view {self.pk}"


class ListPreferences(models.Model):
    """How one person wants to see a list wherever they sign in: rows of a page, and the columns that they leave out.

    What is left out is kept, and not what is shown: a column that comes with a new release is seen.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="list_preferences", verbose_name=_("user"))
    page = models.CharField(_("page"), max_length=30)  # the URL name of the list
    rows = models.PositiveSmallIntegerField(_("rows"), null=True)
    hidden_columns = ArrayField(models.CharField(max_length=40), default=list, verbose_name=_("hidden columns"))

    class Meta:
        verbose_name = _("list preferences")
        verbose_name_plural = _("list preferences")
        constraints = [models.UniqueConstraint(name="list_preferences_once", fields=["user", "page"])]

    def __str__(self) -> str:
        return f"list preferences {self.pk}"
