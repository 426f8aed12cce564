"""Pools of Tritons: the models that they serve, and where their addresses come from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, model_validator

from frontend.config.tables import Slots, TritonModel, made_of

_NEEDS = (("certificate", "key"), ("key", "certificate"), ("certificate", "ca"), ("server_name", "ca"))


def _not_in_table(_: str) -> str:
    raise ValueError("is what its table is called, and not in it")


@dataclass(frozen=True)
class Tls:
    """What is needed to trust a Triton whose certificate has ``name``, and to be trusted by it."""

    ca: Path
    certificate: Path | None
    key: Path | None
    name: str


@dataclass(frozen=True)
class Place:
    """A host, by its name or number, a port, and the zone where it stands."""

    host: str
    port: int
    zone: str = ""

    @classmethod
    def of(cls, text: str, zone: str = "") -> "Place":
        """Read ``host:port`` or ``host:port zone``; ``ValueError`` where it is neither."""
        address, *own = text.split() or [""]
        host, colon, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or len(own) > 1 or not (port.isascii() and port.isdecimal() and int(port) < 65536):
            raise ValueError(f"{text!r} is not host:port, or host:port and a zone")
        return cls(host, int(port), own[0] if own else zone)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class PoolSetting:
    """The Tritons at ``address``, or at the lines of ``file``; without ``models`` they serve all.

    ``concurrency`` is calls at once on one of them, by model. With ``ca`` they are spoken to over TLS, with
    ``certificate`` and ``key`` over mutual TLS; their certificate is for ``server_name``, or the host in the address.
    """

    name: Annotated[str, AfterValidator(_not_in_table)] = ""
    address: Annotated[tuple[str, ...], BeforeValidator(lambda one: [one] if isinstance(one, str) else one)] = ()
    file: Path | None = None
    models: tuple[TritonModel, ...] = ()
    concurrency: Mapping[TritonModel, Slots] = field(default_factory=dict)
    zone: str = ""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    server_name: str = ""

    @model_validator(mode="after")
    def _check(self) -> "PoolSetting":
        if bool(self.address) == bool(self.file):
            raise ValueError("must have an address or a file")
        for setting, other in _NEEDS:
            if getattr(self, setting) and not getattr(self, other):
                raise ValueError(f"{setting} needs {other}")
        try:
            self.read()
        except OSError as error:
            raise ValueError(error) from None
        return self

    def slots(self, models: Iterable[str], default: int) -> dict[str, int]:
        """Calls at once of those of ``models`` that they serve; 0 is for them to say."""
        return {model: self.concurrency.get(model, default) for model in models if model in (self.models or models)}

    def read(self) -> list[Place]:
        """Where its Tritons are, each once, in the file as it is now if there is one.

        ``ValueError`` at the first place that is none, ``OSError`` where the file cannot be read.
        """
        texts: Iterable[str] = self.address
        if self.file is not None:
            lines = self.file.read_text(encoding="utf-8-sig").splitlines()
            texts = filter(None, (line.partition("#")[0].strip() for line in lines))
        return list(dict.fromkeys(Place.of(text, self.zone) for text in texts))

    def tls(self, host: str) -> Tls | None:
        """For those whose address has this host."""
        return Tls(self.ca, self.certificate, self.key, self.server_name or host) if self.ca else None


def _named(pools: Mapping[str, PoolSetting]) -> tuple[PoolSetting, ...]:
    return tuple(replace(pool, name=name) for name, pool in pools.items())


Pools = Annotated[Sequence[PoolSetting], made_of(dict[str, PoolSetting], _named)]
