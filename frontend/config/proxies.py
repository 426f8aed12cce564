"""This machine itself is never asked through a proxy, whatever the environment says of proxies."""

from collections.abc import Mapping, MutableMapping

_HERE = ("localhost", "127.0.0.1", "::1")


def no_proxy(environ: Mapping[str, str]) -> str:
    """The value of ``no_proxy`` with this machine's own names in it; a star stands for every name already."""
    said = environ.get("no_proxy") or environ.get("NO_PROXY", "")
    names = [name.strip() for name in said.split(",") if name.strip()]
    return "*" if names == ["*"] else ",".join(dict.fromkeys([*names, *_HERE]))


def spare_this_machine(environ: MutableMapping[str, str]) -> None:
    """Tell the libraries of this process and the processes that it starts, which all read ``no_proxy``."""
    environ["no_proxy"] = no_proxy(environ)
