"""Forms about destinations of exports: what a bucket or a server is to be."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.exports.models import ExportDestination
from apps.exports.services.destination_validation import DestinationParams

Kind, SignIn = ExportDestination.Kind, ExportDestination.SignIn

_MONO = {"spellcheck": "false", "autocomplete": "off", "class": "mono"}


class DestinationForm(forms.Form):
    """What every destination has; `version`, of one that is there, is the one the form was opened at."""

    kind: ClassVar[str]
    # Names on the wire, and what the form calls them.
    names: ClassVar[dict[str, str]] = {
        "name": "name",
        "folder": "folder",
        "username": "username",
        "phiAgreement": "phi_agreement",
    }

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("As your colleagues know it."))
    description = forms.CharField(label=_("Description"), required=False, max_length=500)
    phi_agreement = forms.BooleanField(
        label=_("We have agreed with whoever runs it that rider data may go there"), required=False
    )
    active = forms.BooleanField(label=_("Files may be put there"), required=False, initial=True)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    @property
    def secret_field(self) -> str:
        """Name the field that the secret is typed into."""
        by_password = self.cleaned_data.get("sign_in") == SignIn.PASSWORD
        return "password" if by_password else "key"

    def changes(self) -> dict[str, Any]:
        """Say what was filled in, in the fields of `DestinationParams`."""
        own = {name: value for name, value in self.cleaned_data.items() if name not in ("version", "key", "password")}
        secret = self.cleaned_data[self.secret_field]
        return {**own, "secret": secret} if secret else own

    def params(self) -> DestinationParams:
        values = {"kind": self.kind, "sign_in": SignIn.SECRET_KEY.value, **self.changes()}
        return DestinationParams(**values)


class BucketForm(DestinationForm):
    kind = Kind.S3
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
        help_text=_("https, of the service, without the bucket: https://s3.us-east-1.amazonaws.com"),
    )
    region = forms.CharField(
        label=_("Region"),
        max_length=40,
        initial="us-east-1",
        widget=forms.TextInput(attrs=_MONO),
        help_text=_("us-east-1 where the service knows none."),
    )
    bucket = forms.CharField(label=_("Bucket"), max_length=63, widget=forms.TextInput(attrs=_MONO))
    path_style = forms.BooleanField(
        label=_("The bucket stands in the path"),
        required=False,
        help_text=_("For MinIO and others that give the bucket no host name of its own."),
    )
    folder = forms.CharField(
        label=_("Folder"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs=_MONO),
        help_text=_("What all keys begin with, such as carelane/daily."),
    )
    username = forms.CharField(label=_("Access key id"), max_length=128, widget=forms.TextInput(attrs=_MONO))
    key = forms.CharField(
        label=_("Secret key"),
        required=False,
        max_length=500,
        strip=False,
        widget=forms.PasswordInput(attrs=_MONO),
        help_text=_("Stored sealed, and not shown again. Empty: the one that is there stays."),
    )


class ServerForm(DestinationForm):
    kind = Kind.SFTP
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
        help_text=_("It has to be there. Without a slash at its beginning it lies in the user's own."),
    )
    username = forms.CharField(label=_("User"), max_length=128, widget=forms.TextInput(attrs=_MONO))
    sign_in = forms.ChoiceField(
        label=_("Signs in by"),
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
        help_text=_("Stored sealed, and not shown again. Empty: the one that is there stays."),
    )
    key = forms.CharField(
        label=_("A private key of your own"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={**_MONO, "rows": 3}),
        help_text=_(
            "Without passphrase: it is stored sealed, and not shown again. Empty: one is made, or the one that is there"
            " stays."
        ),
    )


FORMS: dict[str, type[DestinationForm]] = {Kind.S3.value: BucketForm, Kind.SFTP.value: ServerForm}


def initial_of(destination: ExportDestination, form: type[DestinationForm]) -> dict[str, Any]:
    """Say what a destination is as its form has it; secrets are not shown."""
    shown = {name for name in form.base_fields if hasattr(destination, name)}
    values = {name: getattr(destination, name) for name in shown}
    return values | {"phi_agreement": destination.phi_agreed_at is not None}
