"""Saved views and preferences for lists of the console."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models.rights import User
from lib.choices import TextChoices
from lib.ids import uuid7


class SharedWith(TextChoices):
    """The people who see a saved view besides its owner."""

    NOBODY = "", _("only the owner")
    ROLE = "role", _("everyone in the owner's role")
    EVERYBODY = "all", _("everyone who sees the list")


class SavedView(models.Model):
    """Named filters of a list.  Only the owner renames, shares and removes it."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="saved_views", verbose_name=_("user"))
    page = models.CharField(_("page"), max_length=30)  # the URL name of the list
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(
        _("query"), max_length=500, blank=True
    )  # codes and ids, as in the query string of the page
    # `db_default`, because an older release may insert rows during a deployment.
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
    """The list preferences of one person, in every browser: rows per page, and hidden columns.

    Hidden columns are stored rather than visible ones, so that a column of a new release is visible.
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
