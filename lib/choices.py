"""Choices with translatable labels.  Rules import them from here, because they may not import Django."""

from django.db.models import TextChoices

__all__ = ["TextChoices"]
