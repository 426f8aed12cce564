"""The form of API keys: ``qk_``, 43 random characters, and a checksum of six that catches typing errors.

The random part has 256 bits, so a plain SHA-256 protects it: key stretching only helps secrets that can be guessed.
"""

import hashlib
import secrets
import string
import zlib

_START = "qk_"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM = 43  # characters
_CHECKSUM = 6
_PREFIX = 8


def _checksum(text: str) -> str:
    number, letters = zlib.crc32(text.encode("ascii")), ""
    for _ in range(_CHECKSUM):
        number, rest = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[rest]
    return letters


def new_key() -> str:
    """A new random key."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return f"{_START}{random}{_checksum(random)}"


def well_formed(key: str) -> bool:
    """Whether this has the form of a key. Most wrong keys do not, and need no query of the database."""
    if not key.isascii() or not key.startswith(_START) or len(key) != len(_START) + _RANDOM + _CHECKSUM:
        return False
    random = key[len(_START) : -_CHECKSUM]
    return key.endswith(_checksum(random))


def digest(key: str) -> str:
    """The SHA-256 of a key in hexadecimal, which is all that the database stores of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def prefix(key: str) -> str:
    """The first characters of a key, which are no secret and identify it to people."""
    return key[: len(_START) + _PREFIX]
