"""Pools of Tritons: their models and addresses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, model_validator

from frontend.config.tables import Slots, TritonModel, made_of

_NEEDS = (("certificate", "key"), ("key", "certificate"), ("certificate", "ca"), ("server_name", "ca"))


def _not_in_table(_: str) -> str:
    raise ValueError("is the name of the table and must not be set in it")


@dataclass(frozen=True)
class Tls:
    """Files for TLS to a Triton whose certificate has ``name``; ``certificate`` and ``key`` are the frontend's."""

    ca: Path
    certificate: Path | None
    key: Path | None
    name: str


@dataclass(frozen=True)
class TritonAddress:
    """A host (a name or an IP address), its port and its zone."""

    host: str
    port: int
    zone: str = ""

    @classmethod
    def of(cls, text: str, zone: str = "") -> "TritonAddress":
        """Parse ``host:port`` or ``host:port zone``. Raises ``ValueError``."""
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
    """The Tritons at ``address``, or at the lines of ``file``. Without ``models`` they serve all models.

    ``concurrency`` gives the most calls in flight at one Triton, by model. ``ca`` enables TLS, ``certificate`` and
    ``key`` enable mutual TLS. The Tritons' certificate must have ``server_name``, or else the host of the address.
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
        """The most calls in flight by model, for the ``models`` that this pool serves; 0 for no cap."""
        return {model: self.concurrency.get(model, default) for model in models if model in (self.models or models)}

    def read(self) -> list[TritonAddress]:
        """The addresses, without duplicates. A file is read again.

        Raises ``ValueError`` for a line that is no address, and ``OSError`` if the file cannot be read.
        """
        texts: Iterable[str] = self.address
        if self.file is not None:
            lines = self.file.read_text(encoding="utf-8-sig").splitlines()
            texts = filter(None, (line.partition("#")[0].strip() for line in lines))
        return list(dict.fromkeys(TritonAddress.of(text, self.zone) for text in texts))

    def tls(self, host: str) -> Tls | None:
        """The TLS files for a host; None without TLS."""
        return Tls(self.ca, self.certificate, self.key, self.server_name or host) if self.ca else None


def _named(pools: Mapping[str, PoolSetting]) -> tuple[PoolSetting, ...]:
    return tuple(replace(pool, name=name) for name, pool in pools.items())


Pools = Annotated[Sequence[PoolSetting], made_of(dict[str, PoolSetting], _named)]
