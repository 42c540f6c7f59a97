"""The Permissions-Policy header: pages may use passkeys and no other browser feature."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

# There is no wildcard for "all other features": each has to be listed, and browsers warn about names they do not know.
REFUSED: Final = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen",
    "geolocation", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "payment",
    "picture-in-picture", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking",
)  # fmt: skip
OURS: Final = ("publickey-credentials-create", "publickey-credentials-get")
HEADER: Final = ", ".join([*(f"{name}=()" for name in REFUSED), *(f"{name}=(self)" for name in OURS)])


class PermissionsPolicyMiddleware:
    """Add the header to every response, so that a page with injected content cannot use the camera, for example."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers["Permissions-Policy"] = HEADER
        return response
