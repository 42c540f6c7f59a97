"""The address columns that places share."""

from django.db import models
from django.db.models import Q


class PostalAddress(models.Model):
    """Abstract: a US postal address with WGS84 coordinates to six decimals (about 0.1 m)."""

    address_line1 = models.CharField("address line 1", max_length=200)
    address_line2 = models.CharField("address line 2", max_length=200, blank=True)
    city = models.CharField(max_length=100)
    state = models.CharField(max_length=50)
    postal_code = models.CharField(max_length=20)
    lat = models.DecimalField("latitude", max_digits=9, decimal_places=6, null=True, blank=True)
    lng = models.DecimalField("longitude", max_digits=9, decimal_places=6, null=True, blank=True)

    class Meta:
        abstract = True


def on_the_globe(name: str) -> models.CheckConstraint:
    """Constrain `lat` and `lng` to a point: both or neither, WGS84 degrees."""
    return models.CheckConstraint(
        name=name,
        condition=Q(lat__isnull=True, lng__isnull=True)
        # A comparison with null is unknown, which a constraint lets pass.
        | Q(lat__isnull=False, lng__isnull=False, lat__range=(-90, 90), lng__range=(-180, 180)),
    )
