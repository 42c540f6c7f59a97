"""Choices whose labels are texts for people.  Rules import them from here: they may not import Django."""

from django.db.models import TextChoices

__all__ = ["TextChoices"]
