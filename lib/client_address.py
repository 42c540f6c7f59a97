"""The address of the caller, as far as it can be trusted."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str | None:
    """Find the client's IP address: the peer, or the hop that the outermost of our own proxies saw.

    X-Forwarded-For grows to the right and everything left of our proxies' entries is the client's invention, so it is
    counted TRUSTED_PROXY_COUNT entries from the right.  None when there are fewer, or for a Unix socket.
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
    """Whether the address lies in one of the networks (CIDR); an unknown address lies in none."""
    if address is None:
        return False
    found = ipaddress.ip_address(address)
    return any(found in ipaddress.ip_network(network) for network in networks)
