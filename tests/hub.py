"""A fake model hub on loopback, with the requests that its client sends to download files.

Like the hub, it answers a small file at once with git's hash, and redirects a large one to another address, with its
SHA-256. Both accept a range. Large files are announced as available by Xet too, which does not answer here.
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
    """After ``after`` bytes of an answer, call ``act`` and close the connection."""

    after: int
    act: Callable[[], None] = lambda: None


@dataclass
class Hub:
    """Serves ``folder/<repository>/<file>`` at the commit of ``revisions`` within the block; files must not change.

    ``cuts`` are by ``<repository>/<file>``, and each happens once; ``served`` counts the bytes sent of each file,
    ``asked`` all requests.
    """

    folder: Path
    revisions: Mapping[str, str]
    cuts: dict[str, Cut] = field(default_factory=dict)
    served: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    hashes: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> "Hub":
        # Hash files before requests arrive: hashing gigabytes takes longer than the client waits.
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
        """The bytes sent of all files."""
        return sum(self.served.values())


def _hash(path: Path) -> str:
    """The hash in the hub's etags: SHA-256 for large files, git's blob SHA-1 for small ones."""
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
