"""Hosts of endpoints as resolvers read them, without resolving anything.

`getaddrinfo` takes an IPv4 address in many spellings (one number, hexadecimal, octal, fewer than four parts), and
clients percent-decode and case-fold a host before they use it.
Whoever compares or refuses hosts must read them the same way.
"""

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from urllib.parse import unquote

import idna

Host = str | IPv4Address | IPv6Address

NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
NAT64 = IPv6Network("64:ff9b::/96")
MAX_NAME = 253


class HostUnreadable(ValueError):
    """The text is no host name and no address."""


def parse_host(text: str) -> Host:
    """Read a host: an address in any spelling, or a lower-case ASCII name without its trailing dot.

    Raises:
        HostUnreadable: when it is neither.
    """
    text = unicodedata.normalize("NFKC", unquote(text)).strip().lower()
    if ":" in text:
        return _ipv6(text.removeprefix("[").removesuffix("]"))
    text = text.removesuffix(".")
    address = _ipv4(text)
    return _name(text) if address is None else address


def embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Find the IPv4 address that an IPv6 address stands for: mapped, compatible, 6to4 or NAT64."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    number = int(address)
    if address in NAT64 or 1 < number < 2**32:
        return IPv4Address(number & 0xFFFFFFFF)
    return None


def _ipv6(text: str) -> IPv6Address | IPv4Address:
    try:
        address = IPv6Address(text)
    except ValueError as error:
        raise HostUnreadable(text) from error
    return address if address.ipv4_mapped is None else address.ipv4_mapped


def _ipv4(text: str) -> IPv4Address | None:
    """Read an IPv4 address the way inet_aton does; None when the last label is no number, so that it is a name."""
    parts = text.split(".")
    if not NUMBER.fullmatch(parts[-1]):
        return None
    if len(parts) > 4 or not all(NUMBER.fullmatch(part) for part in parts):
        raise HostUnreadable(text)
    numbers = [_number(part) for part in parts]
    *heads, tail = numbers
    room = 4 - len(heads)
    if any(head > 255 for head in heads) or tail >= 256**room:
        raise HostUnreadable(text)
    value = tail
    for position, head in enumerate(heads):
        value += head << (24 - 8 * position)
    return IPv4Address(value)


def _number(part: str) -> int:
    try:
        if part[:2] in {"0x", "0X"}:
            return int(part[2:] or "0", 16)
        return int(part, 8) if part.startswith("0") else int(part)
    except ValueError as error:
        raise HostUnreadable(part) from error


def _name(text: str) -> str:
    if not text.isascii():
        try:
            text = idna.encode(text, uts46=True).decode("ascii")
        except idna.IDNAError as error:
            raise HostUnreadable(text) from error
    if len(text) > MAX_NAME or not NAME.fullmatch(text):
        raise HostUnreadable(text)
    return text
