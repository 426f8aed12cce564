"""What an API key looks like: ``qk_``, 43 random characters, and a checksum of six that catches slips and guesses.

The random part has 256 bits, so that a plain SHA-256 keeps it: there is nothing to guess that stretching would slow.
"""

import hashlib
import secrets
import string
import zlib

_START = "qk_"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM = 43
_CHECKSUM = 6
_PREFIX = 8


def _checksum(text: str) -> str:
    number, letters = zlib.crc32(text.encode("ascii")), ""
    for _ in range(_CHECKSUM):
        number, rest = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[rest]
    return letters


def new_key() -> str:
    """A key that nobody has had before."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return f"{_START}{random}{_checksum(random)}"


def well_formed(key: str) -> bool:
    """Whether this can be a key at all; most of what is no key needs no look into the database."""
    if not key.isascii() or not key.startswith(_START) or len(key) != len(_START) + _RANDOM + _CHECKSUM:
        return False
    random = key[len(_START) : -_CHECKSUM]
    return key.endswith(_checksum(random))


def digest(key: str) -> str:
    """What is stored of a key: its SHA-256, in hexadecimal."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def prefix(key: str) -> str:
    """What names a key to people: its first characters."""
    return key[: len(_START) + _PREFIX]
