"""Forms of export destinations: buckets and servers."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.exports.models import ExportDestination
from apps.exports.services.destination_validation import DestinationParams

DestinationKind, SignIn = ExportDestination.Kind, ExportDestination.SignIn

_MONO = {"spellcheck": "false", "autocomplete": "off", "class": "mono"}


class DestinationForm(forms.Form):
    """Fields of all destinations; `version` is that of the destination when the form was opened."""

    kind: ClassVar[str]
    # Fields of the API, and their names in the form.
    names: ClassVar[dict[str, str]] = {
        "name": "name",
        "folder": "folder",
        "username": "username",
        "phiAgreement": "phi_agreement",
    }

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("A name that your colleagues recognize."))
    description = forms.CharField(label=_("Description"), required=False, max_length=500)
    phi_agreement = forms.BooleanField(
        label=_("Our agreement with the operator allows rider data there"), required=False
    )
    active = forms.BooleanField(label=_("Uploads are enabled"), required=False, initial=True)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    @property
    def secret_field(self) -> str:
        """Name of the form field that has the secret."""
        return "password" if self.cleaned_data.get("sign_in") == SignIn.PASSWORD else "key"

    def changes(self) -> dict[str, Any]:
        """Return the entered values by the field names of `DestinationParams`."""
        values = {
            name: value for name, value in self.cleaned_data.items() if name not in ("version", "key", "password")
        }
        secret = self.cleaned_data[self.secret_field]
        return {**values, "secret": secret} if secret else values

    def params(self) -> DestinationParams:
        values = {"kind": self.kind, "sign_in": SignIn.SECRET_KEY.value, **self.changes()}
        return DestinationParams(**values)


class BucketForm(DestinationForm):
    kind = DestinationKind.S3
    names: ClassVar[dict[str, str]] = {
        **DestinationForm.names,
        "endpointUrl": "endpoint_url",
        "region": "region",
        "bucket": "bucket",
    }

    endpoint_url = forms.CharField(
        label=_("Address"),
        max_length=500,
        widget=forms.TextInput(attrs={**_MONO, "inputmode": "url"}),
        help_text=_("https URL of the service, without the bucket: https://s3.us-east-1.amazonaws.com"),
    )
    region = forms.CharField(
        label=_("Region"),
        max_length=40,
        initial="us-east-1",
        widget=forms.TextInput(attrs=_MONO),
        help_text=_("us-east-1 if the service has no regions."),
    )
    bucket = forms.CharField(label=_("Bucket"), max_length=63, widget=forms.TextInput(attrs=_MONO))
    path_style = forms.BooleanField(
        label=_("The bucket is in the path"),
        required=False,
        help_text=_("For MinIO and other services without a host name for each bucket."),
    )
    folder = forms.CharField(
        label=_("Folder"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs=_MONO),
        help_text=_("Prefix of all object keys, such as carelane/daily."),
    )
    username = forms.CharField(label=_("Access key id"), max_length=128, widget=forms.TextInput(attrs=_MONO))
    key = forms.CharField(
        label=_("Secret key"),
        required=False,
        max_length=500,
        strip=False,
        widget=forms.PasswordInput(attrs=_MONO),
        help_text=_("Stored encrypted and never shown. Leave blank to keep the current one."),
    )


class ServerForm(DestinationForm):
    kind = DestinationKind.SFTP
    names: ClassVar[dict[str, str]] = {
        **DestinationForm.names,
        "host": "host",
        "port": "port",
        "signIn": "sign_in",
    }

    host = forms.CharField(label=_("Host"), max_length=253, widget=forms.TextInput(attrs=_MONO))
    port = forms.IntegerField(label=_("Port"), initial=22, min_value=1, max_value=65_535)
    folder = forms.CharField(
        label=_("Folder"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs=_MONO),
        help_text=_("Must exist on the server. Without a leading slash, it is relative to the user's home folder."),
    )
    username = forms.CharField(label=_("User"), max_length=128, widget=forms.TextInput(attrs=_MONO))
    sign_in = forms.ChoiceField(
        label=_("Sign-in method"),
        widget=forms.RadioSelect,
        choices=[(SignIn.PRIVATE_KEY, _("A key pair")), (SignIn.PASSWORD, _("A password"))],
        initial=SignIn.PRIVATE_KEY,
    )
    password = forms.CharField(
        label=_("Password"),
        required=False,
        max_length=500,
        strip=False,
        widget=forms.PasswordInput(attrs=_MONO),
        help_text=_("Stored encrypted and never shown. Leave blank to keep the current one."),
    )
    key = forms.CharField(
        label=_("Your own private key"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={**_MONO, "rows": 3}),
        help_text=_(
            "Without passphrase. Stored encrypted and never shown. Leave blank to keep the current one, or to generate"
            " one."
        ),
    )


FORMS: dict[str, type[DestinationForm]] = {DestinationKind.S3.value: BucketForm, DestinationKind.SFTP.value: ServerForm}


def initial_of(destination: ExportDestination, form: type[DestinationForm]) -> dict[str, Any]:
    """Return the initial values of the form of a destination, without secrets."""
    values = {name: getattr(destination, name) for name in form.base_fields if hasattr(destination, name)}
    return values | {"phi_agreement": destination.phi_agreed_at is not None}
