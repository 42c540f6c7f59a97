"""The IP address of the client, as far as it can be trusted."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str | None:
    """Return the client's IP address: the peer, or the address that the operator's outermost proxy saw.

    Proxies append to X-Forwarded-For, and everything to the left of the operator's proxies can be forged by the client;
    the address is the entry TRUSTED_PROXY_COUNT from the right.  None if there are fewer entries, or for a Unix socket.
    """
    proxies: int = settings.TRUSTED_PROXY_COUNT
    if proxies == 0:
        return _plain(request.META.get("REMOTE_ADDR", ""))
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    return _plain(hops[-proxies]) if len(hops) >= proxies else None


def _plain(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)  # ::ffff:192.0.2.1, as dual-stack sockets report IPv4 peers
    return str(mapped or address)


def is_within(address: str | None, networks: list[str]) -> bool:
    """Return whether the address is in one of the networks (CIDR); False for an unknown address."""
    if address is None:
        return False
    parsed = ipaddress.ip_address(address)
    return any(parsed in ipaddress.ip_network(network) for network in networks)
