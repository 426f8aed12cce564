"""A stand-in of the model hub on loopback: what its client asks for to download files, and nothing else.

As on the hub, a small file is answered at once with git's hash of it, and a large one by way of another address with
its SHA-256; both can be asked for from a byte on. Large ones are offered by Xet too, which nothing answers here.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_LARGE = 10_000_000
_PIECE = 1 << 20
_RESOLVE, _STORE = "/resolve/", "/store/"
_NO_BODY = {"Content-Length": "0"}


@dataclass(frozen=True)
class Cut:
    """Once ``after`` bytes of an answer have gone, ``act`` is called and the connection ends."""

    after: int
    act: Callable[[], None] = lambda: None


@dataclass
class Hub:
    """Serves ``folder/<repository>/<file>`` at the commit of ``revisions`` within the block; files must not change.

    ``cuts`` holds one a file, by ``<repository>/<file>``, and each happens once; ``served`` counts the bytes sent of
    each file, ``asked`` all requests.
    """

    folder: Path
    revisions: Mapping[str, str]
    cuts: dict[str, Cut] = field(default_factory=dict)
    served: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    hashes: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> "Hub":
        # Before anyone waits for them: of gigabytes they take longer than the client waits.
        for repository in self.revisions:
            for path in (self.folder / repository).rglob("*"):
                if path.is_file():
                    self.hashes.setdefault(str(path.relative_to(self.folder)), _hash(path))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def sent(self) -> int:
        """Bytes of all files."""
        return sum(self.served.values())


def _hash(path: Path) -> str:
    """As the hub's etags are: SHA-256 of what is large, git's SHA-1 of a blob of what is small."""
    if path.stat().st_size >= _LARGE:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            hub.asked += 1
            if self.path.startswith(_STORE):
                self._send(self.path.removeprefix(_STORE), {}, body=body)
                return
            repository, _, rest = self.path.lstrip("/").partition(_RESOLVE)
            revision, _, name = rest.partition("/")
            file = f"{repository}/{name}"
            if hub.revisions.get(repository) != revision or file not in hub.hashes:
                self._head(HTTPStatus.NOT_FOUND, {"X-Error-Code": "EntryNotFound", **_NO_BODY})
                return
            size = (hub.folder / file).stat().st_size
            commit = {"X-Repo-Commit": revision}
            if size < _LARGE:
                self._send(file, commit, body=body)
                return
            linked = {"X-Linked-Size": str(size), "X-Linked-ETag": f'"{hub.hashes[file]}"'}
            xet = {"X-Xet-Hash": hub.hashes[file], "X-Xet-Refresh-Route": f"{hub.address}/xet"}
            location = {"Location": f"{hub.address}{_STORE}{file}"}
            self._head(HTTPStatus.FOUND, {**commit, **linked, **xet, **location, **_NO_BODY})

        def _head(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def _send(self, file: str, headers: Mapping[str, str], *, body: bool) -> None:
            path = hub.folder / file
            size, start = path.stat().st_size, 0
            if wanted := self.headers.get("Range"):
                start = int(wanted.removeprefix("bytes=").split("-")[0])
            of_all = {"Content-Range": f"bytes {start}-{size - 1}/{size}"} if start else {}
            given = {"ETag": f'"{hub.hashes[file]}"', "Accept-Ranges": "bytes", "Content-Length": str(size - start)}
            self._head(HTTPStatus.PARTIAL_CONTENT if start else HTTPStatus.OK, {**headers, **given, **of_all})
            if body:
                self._pour(file, start)

        def _pour(self, file: str, start: int) -> None:
            cut, gone = hub.cuts.get(file), 0
            with (hub.folder / file).open("rb") as content:
                content.seek(start)
                while piece := content.read(_PIECE):
                    if cut and gone + len(piece) > cut.after:
                        del hub.cuts[file]
                        self.close_connection = True
                        cut.act()
                        return
                    try:
                        self.wfile.write(piece)
                    except OSError:
                        # The client has disconnected.
                        self.close_connection = True
                        return
                    gone += len(piece)
                    hub.served[file] += len(piece)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    return Handler
