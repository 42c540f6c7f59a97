"""Choices whose labels are said in the language of the reader."""

import enum

from django.db import models
from django.utils.translation import pgettext_lazy
from django_stubs_ext import StrPromise


class TextChoices(models.TextChoices):
    """Labels are English, and marked for translation by standing here.

    Their context is the name of the class, with that of the one it stands in.  Values are what is stored, and what the
    API says.  `label` is for pages alone: what a service writes or refuses with must not depend on who reads.
    """

    @enum.property
    def label(self) -> StrPromise:
        return pgettext_lazy(type(self).__qualname__, str(self._label_))

    @property
    def in_english(self) -> str:
        """Give the label for what services write; pages say it again in the language of the reader (lib/retelling)."""
        return str(self._label_)
