"""What rings around the core add to it. The core imports none of them: it finds those whose folders are there."""

import importlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from aiohttp import web
from aiohttp.typedefs import Middleware
from multidict import CIMultiDictProxy

from frontend.access.counters import Counters
from frontend.catalogue.endpoints import Paths
from frontend.config.settings import Settings
from frontend.http.schemas import OpenApiFragment
from frontend.peers.frontends import Frontends
from frontend.text.sentences import Reader

_FOLDERS = ("reading", "sharing", "extensions", "administration", "pages")


def _always(settings: Settings) -> bool:
    return True


def _ignored(request: web.Request, status: int, seconds: float | None) -> None:
    return


async def _nothing(app: web.Application, closing: AsyncExitStack) -> None:
    return


@dataclass(frozen=True)
class Ring:
    """What one ring adds, if the settings switch it on."""

    is_on: Callable[[Settings], bool] = _always
    routes: Callable[[Settings], Iterable[web.RouteDef]] = lambda settings: ()
    paths: Paths = field(default_factory=Paths)
    # How the key of a path is read, if not from the header of all others.
    keys: Mapping[str, Callable[["CIMultiDictProxy[str]"], str]] = field(default_factory=dict)
    # Middlewares that may answer errors, before these become answers in the API's form.
    middlewares: tuple[Middleware, ...] = ()
    # Starts the parts that the routes need, after those of the core.
    start: Callable[[web.Application, AsyncExitStack], Awaitable[None]] = _nothing
    # Called at the end of each request, with the status and the time of its answer; None for a live session.
    ended: Callable[[web.Request, int, float | None], None] = _ignored
    describe: Callable[[Settings], OpenApiFragment] = lambda settings: OpenApiFragment(settings.served)
    reader: Reader | None = None
    # Starts what this frontend shares with others, in the place of its own.
    shares: Callable[[web.Application, AsyncExitStack], Awaitable[tuple[Frontends, Counters]]] | None = None


def rings_of(settings: Settings) -> tuple[Ring, ...]:
    """The rings that are there and on."""
    return tuple(ring for ring in _installed() if ring.is_on(settings))


@cache
def _installed() -> tuple[Ring, ...]:
    return tuple(ring for module in _found("rings") for ring in module.RINGS)


def reader() -> Reader:
    """How texts are read here."""
    return next((ring.reader for ring in _installed() if ring.reader), Reader())


def commands() -> list[ModuleType]:
    """The modules of the rings' commands."""
    return [module for table in _found("commands.table") for module in table.COMMANDS]


def _found(name: str) -> list[ModuleType]:
    """The modules of that name in the folders that are there."""
    here, file = Path(__file__).parent, f"{name.replace('.', '/')}.py"
    return [importlib.import_module(f"frontend.{each}.{name}") for each in _FOLDERS if (here / each / file).is_file()]
