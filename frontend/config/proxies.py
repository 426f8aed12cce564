"""Calls to this machine never use a proxy, whatever the environment sets."""

from collections.abc import Mapping, MutableMapping

_HERE = ("localhost", "127.0.0.1", "::1")


def no_proxy(environ: Mapping[str, str]) -> str:
    """The value of ``no_proxy`` with this machine's names added, unless it is a star."""
    value = environ.get("no_proxy") or environ.get("NO_PROXY", "")
    names = [name.strip() for name in value.split(",") if name.strip()]
    return "*" if names == ["*"] else ",".join(dict.fromkeys([*names, *_HERE]))


def exclude_this_machine(environ: MutableMapping[str, str]) -> None:
    """Set ``no_proxy``, which libraries and child processes read."""
    environ["no_proxy"] = no_proxy(environ)
