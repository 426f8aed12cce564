"""What the log leaves out: data of callers, whoever writes the line."""

import logging
import re
import traceback
from collections.abc import Mapping
from typing import Any

HIDDEN = "[hidden]"
# API keys, also broken ones, and JSON Web Tokens. A caller may send one as its request id.
_CREDENTIALS = re.compile(r"qk_[0-9A-Za-z]{20,}|(?<![\w-])eyJ[\w-]+\.[\w.-]+")
# A named value in a message.
_NAMED = re.compile(r"%\(")
# What a function of the event loop was called with.
_ARGUMENTS = re.compile(r"\(.+\)", re.DOTALL)


def without_credentials(line: str) -> str:
    return _CREDENTIALS.sub(HIDDEN, line)


def message_of_library(record: logging.LogRecord) -> str:
    """A library's message with its numbers alone. Other values may be a caller's, and so may a text without any."""
    if not record.args:
        return f"a line of {record.name}"
    try:
        if not isinstance(record.args, Mapping):
            return str(record.msg) % tuple(map(_number_of, record.args))
        # The logging of Python takes a mapping that is the only value for named ones. Its names may be a caller's too.
        named = _NAMED.search(str(record.msg)) is not None
        return str(record.msg) % ({name: _number_of(value) for name, value in record.args.items()} if named else HIDDEN)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return f"a line of {record.name}"


def _number_of(value: object) -> Any:
    return value if isinstance(value, int | float) else HIDDEN


def message_of_loop(message: str) -> str:
    """A message of an event loop, without the values that a function was called with."""
    return _ARGUMENTS.sub("(...)", message)


def trace_of(error: BaseException) -> str:
    """The lines of code that an error and its causes passed, the error last.

    Messages are left out, since they may quote a caller, but for those of the system (``OSError``). Notes are ours.
    """
    parts: list[str] = []
    left, seen = [error], {id(error)}
    while left:
        each = left.pop()
        says = f": {each}" if isinstance(each, OSError) else ""
        name = f"{type(each).__module__}.{type(each).__qualname__}{says}"
        parts.append("\n".join(["".join(traceback.format_tb(each.__traceback__)) + name, *_notes_of(each)]))
        causes = [each.__cause__ or (None if each.__suppress_context__ else each.__context__)]
        causes += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        left += [cause for cause in causes if cause is not None and id(cause) not in seen]
        seen |= {id(cause) for cause in left}
    return "\n\n".join(reversed(parts))


def _notes_of(error: BaseException) -> list[str]:
    return [str(note) for note in getattr(error, "__notes__", ())]
