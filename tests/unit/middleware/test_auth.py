from aiohttp import web

from frontend.access.caller import Caller, refuse
from frontend.access.debts import WrongKeys
from frontend.app_keys import API_KEYS, CALLER, WRONG_KEYS
from frontend.middleware.auth import auth_middleware
from frontend.middleware.errors import errors_middleware
from tests.raw import Answer, ask, head
from tests.serving import serving


class _Keys:
    async def identify(self, token: str) -> Caller:
        if token != "right":
            raise refuse("wrong")
        return Caller("1", "me")


class _WrongKeys(WrongKeys):
    """Notes who is to wait."""

    def __init__(self) -> None:
        super().__init__(0)
        self.paused: list[str] = []

    async def pause(self, address: str) -> None:
        self.paused.append(address)


async def _name(request: web.Request) -> web.Response:
    return web.Response(text=request[CALLER].name if CALLER in request else "nobody")


async def _get(path: str, key: str) -> tuple[Answer, list[str]]:
    """The answer where all below ``/known/`` needs a key, and the addresses that had to wait."""
    wrong = _WrongKeys()
    middlewares = [errors_middleware, auth_middleware({"/known/": API_KEYS})]
    async with serving(_name, middlewares=middlewares, parts={API_KEYS: _Keys(), WRONG_KEYS: wrong}) as port:
        return await ask(port, head("GET", path, key=key)), wrong.paused


async def test_a_right_key_is_its_callers() -> None:
    answer, paused = await _get("/known/a", "right")
    assert (answer.status, answer.body, paused) == (200, b"me", [])


async def test_a_wrong_key_is_401_and_its_address_waits() -> None:
    answer, paused = await _get("/known/a", "wrong")
    assert (answer.status, paused) == (401, ["127.0.0.1"])


async def test_a_path_that_needs_no_key_has_no_caller() -> None:
    assert (await _get("/known", "wrong"))[0].body == b"nobody"


async def test_a_path_that_is_none_is_404_before_a_key_is_wrong() -> None:
    answer, paused = await _get("/known/a/b", "wrong")
    assert (answer.status, paused) == (404, [])
