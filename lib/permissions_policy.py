"""What pages may ask of a browser: passkeys, and nothing else."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

# A browser takes no "all others": what is to be refused has to be named, and names it does not know make it complain.
REFUSED: Final = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen",
    "geolocation", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "payment",
    "picture-in-picture", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking",
)  # fmt: skip
OURS: Final = ("publickey-credentials-create", "publickey-credentials-get")
HEADER: Final = ", ".join([*(f"{name}=()" for name in REFUSED), *(f"{name}=(self)" for name in OURS)])


class PermissionsPolicyMiddleware:
    """Put the header on every answer: a page that shows what an intruder wrote still gets at no camera."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers["Permissions-Policy"] = HEADER
        return response
