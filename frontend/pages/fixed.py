"""Answers of open paths, which anybody may ask for at any rate. They are made once, and do not change in a process."""

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web


@dataclass(frozen=True)
class Fixed:
    """A body with its headers. ``etag`` identifies the body, so that a browser need not load it again."""

    body: bytes
    headers: Mapping[str, str]
    status: int
    etag: str

    @classmethod
    def of(cls, body: bytes, headers: Mapping[str, str], status: int = 200) -> "Fixed":
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        # Without a rule, browsers keep answers for as long as they like.
        kept: dict[str, str] = {hdrs.CACHE_CONTROL: "no-cache", hdrs.ETAG: etag} if status == 200 else {}
        return cls(body, {**kept, **headers}, status, etag)

    def answer(self, request: web.Request) -> web.Response:
        known = request.headers.get(hdrs.IF_NONE_MATCH, "")
        if self.status == 200 and (self.etag in known or known.strip() == "*"):
            headers = {name: value for name, value in self.headers.items() if name != hdrs.CONTENT_TYPE}
            return web.Response(status=304, headers=headers)
        return web.Response(body=self.body, headers=self.headers, status=self.status)


# The answers of an application that have been made.
FIXED = web.AppKey("fixed", dict[Hashable, Fixed])


def answer_once(request: web.Request, name: Hashable, make: Callable[[], Fixed]) -> web.Response:
    """The answer ``name``, which ``make`` makes at the first request."""
    made = request.app[FIXED]
    if name not in made:
        made[name] = make()
    return made[name].answer(request)
