"""One Triton and one frontend on this machine, started, restarted and stopped together."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Collection, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import MappingProxyType

from frontend.access import api_key
from frontend.access.jwt import Tokens
from frontend.administration.commands.database import with_registry
from frontend.administration.registry import Registry
from frontend.catalogue.added_models import added_in
from frontend.catalogue.exports import read_exports
from frontend.catalogue.models import SPEECH, Added
from frontend.config.proxies import no_proxy
from frontend.config.reading import FROM_FILE, PREFIX, read
from frontend.config.settings import Settings
from frontend.database.engine import absolute
from frontend.processes.pauses import Pauses
from frontend.processes.siblings import CANNOT_START
from scripts.local_triton.checks import PreflightError, check_port
from scripts.local_triton.child import start_child, stop_child
from scripts.local_triton.server import DIRECT, LocalTriton, TritonFailedError
from scripts.progress_bar import ProgressBar
from scripts.run import fit
from scripts.run.state import BUILD, REPOSITORY, models_kept

_READY_SECONDS = 60
# Seconds beyond the frontend's own shutdown time.
_GRACE_SECONDS = 5
_TOKEN_SECONDS = 30 * 86_400
_API_KEY, _JWT_SECRET = f"{PREFIX}API_KEY", f"{PREFIX}JWT_SECRET"
_TRITON_SECRET = f"{PREFIX}TRITON_SECRET"


class Stack:
    """One Triton over ``repository`` and one frontend, with logs in ``work``.

    ``previous`` is the ``environment`` of an earlier run, whose key and secret stay valid. ``added`` is what an
    export will put into the repository, if it is still to come.
    """

    def __init__(
        self,
        port: int,
        environ: Mapping[str, str],
        repository: Path = REPOSITORY,
        work: Path = BUILD,
        previous: Mapping[str, str] = MappingProxyType({}),
        added: Added | None = None,
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        added = added_in(repository) if added is None else added
        self.fit = fit.of_this_machine(environ, added)
        own = {f"{PREFIX}MODEL_REPOSITORY": str(repository)}
        self._environ = with_defaults(environ, {**self.fit.settings(), **_own_folders(work)}) | own
        self._settings = Settings.from_env(self._environ, added)
        self.api_key = previous.get(_API_KEY, "")
        self.jwt_secret = self._settings.jwt_secret or previous.get(_JWT_SECRET) or secrets.token_hex(32)
        self._port = port
        self._repository, self._work = repository, work
        secret = self._settings.triton_secret
        self.triton = LocalTriton(repository, work / "triton", config_name=fit.CONFIG_NAME, secret=secret)
        self._frontend: subprocess.Popen[bytes] | None = None
        self._pauses = Pauses()
        self._started = self._hurried = False
        self._not_loaded: set[str] = set()
        self._lock = ExitStack()

    @property
    def addresses(self) -> dict[str, str]:
        """Triton's services, by environment variable."""
        ports = self.triton.ports
        return {
            f"{PREFIX}TRITON": f"127.0.0.1:{ports.grpc}",
            f"{PREFIX}TRITON_HTTP": f"http://127.0.0.1:{ports.http}",
            f"{PREFIX}TRITON_METRICS": f"http://127.0.0.1:{ports.metrics}/metrics",
        }

    @property
    def _frontend_log(self) -> Path:
        return self._work / "frontend.log"

    def environment(self) -> dict[str, str]:
        """The variables that callers and the frontend's commands need, in any folder.

        A secret that has a file is left out, because setting it twice is an error.
        """
        tokens = Tokens(self._settings.jwt_audience, self._settings.jwt_issuer, self.jwt_secret)
        values = {
            f"{PREFIX}URL": self.url,
            _API_KEY: self.api_key,
            f"{PREFIX}MOBILE_JWT": tokens.issue("demo-phone", _TOKEN_SECONDS),
            _JWT_SECRET: self.jwt_secret,
            _TRITON_SECRET: self.triton.secret,
            f"{PREFIX}DATABASE": absolute(self._settings.database),
            **self.addresses,
            "no_proxy": no_proxy(self._environ),
        }
        return {name: value for name, value in values.items() if not self._environ.get(f"{name}{FROM_FILE}")}

    def open_database(self) -> None:
        """Migrate the database, or raise why that fails."""
        with_registry(self._settings, Registry.orgs)

    def start(self) -> None:
        """Start both and wait until every model is ready. Until the stop nobody exports into the checkout's models."""
        check_port(self._port)
        if self._repository.resolve() == REPOSITORY.resolve():
            self._lock.enter_context(models_kept())
        # The export may have left out voices.
        self._settings = Settings.from_env(self._environ)
        for log in (self.triton.log, self._frontend_log):
            log.unlink(missing_ok=True)
        lines = self.fit.write(self._repository)
        self._start_triton()
        missing = self._failed() | self._not_loaded
        for model in self._settings.served.triton_models:
            if model in lines and model not in missing:
                print(lines[model], flush=True)
        self._start_frontend()
        self._wait_until_ready()
        name = "make run" if self._work == BUILD else f"make run STATE={self._work}"
        self.api_key = with_registry(self._settings, lambda registry: demo_key(registry, name, self.api_key))
        self._started = True

    def _start_triton(self) -> None:
        try:
            reasons = self._load()
        except TritonFailedError as error:
            if self.triton.alive():
                raise
            # Triton 2.51 may stop if a process of a model gets no processor for a moment while it loads.
            print(f"{error}; it is started again", file=sys.stderr, flush=True)
            self.triton.stop()
            reasons = self._load()
        for reason in reasons.values():
            # The other lines are a traceback, which is in Triton's log.
            print(f"not served: {str(reason).partition(chr(10))[0]}", file=sys.stderr, flush=True)
        self._not_loaded = set(reasons)

    def _load(self) -> dict[str, TritonFailedError]:
        """Start Triton and load the models. Returns those that do not load; raises if none does."""
        self.triton.start()
        models = [model for model in self._settings.served.triton_models if model not in self._failed()]
        reasons: dict[str, TritonFailedError] = {}
        with closing(ProgressBar(sys.stderr, "loading", len(models))) as bar:
            self.triton.load(models, bar.show, reasons.__setitem__)
        if models and len(reasons) == len(models):
            raise next(iter(reasons.values()))
        return reasons

    def _start_frontend(self) -> None:
        own = {
            **self._without(self._failed() | self._not_loaded),
            f"{PREFIX}PORT": str(self._port),
            f"{PREFIX}TRITON": self.addresses[f"{PREFIX}TRITON"],
            _TRITON_SECRET: self.triton.secret,
            _JWT_SECRET: self.jwt_secret,
        }
        # The values of files of secrets are among them.
        environment = {name: value for name, value in self._environ.items() if name.removesuffix(FROM_FILE) not in own}
        environment |= own
        command = [sys.executable, "-m", "frontend", "serve"]
        self._frontend = start_child(command, environment, self._frontend_log)

    def _failed(self) -> set[str]:
        """The models that could not be exported."""
        found = read_exports(self._repository, self._settings.served.triton_models)
        return {model for model, export in found.items() if export.failed}

    def _without(self, failed: Collection[str]) -> dict[str, str]:
        """Settings by which the frontend serves the offer without these Triton models."""
        served = self._settings.served
        voices = [voice.name for voice in served.voices if voice.triton_model not in failed]
        models = [
            model.id
            for model in served.models
            if (voices if model.operation == SPEECH else model.triton_model not in failed)
        ]
        return {f"{PREFIX}MODELS": ",".join(models), f"{PREFIX}VOICES": ",".join(voices) or "all"} if failed else {}

    def _wait_until_ready(self) -> None:
        deadline, lacking = time.monotonic() + _READY_SECONDS, ""
        while time.monotonic() < deadline and not self.failure():
            if not (lacking := self._lacking()):
                return
            time.sleep(0.1)
        raise TritonFailedError(self.failure() or f"not ready within {_READY_SECONDS} s: {lacking}")

    def _lacking(self) -> str:
        """The models that are not ready, or empty."""
        try:
            with DIRECT.open(f"{self.url}/health/ready", timeout=2) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            body = error.read()
        except OSError:
            return "the frontend"
        return ", ".join(
            f"{model} ({state})" for model, state in json.loads(body)["models"].items() if state != "ready"
        )

    def failure(self) -> str:
        """A sentence about what stopped unexpectedly, or empty."""
        if not self.triton.alive():
            return f"Triton stopped; its log is {self.triton.log}"
        if self._frontend is not None and self._frontend.poll() is not None:
            return f"the frontend stopped; its log is {self._frontend_log}"
        return ""

    def mend(self) -> str:
        """Restart what stopped unexpectedly, and print a line about it.

        Returns the reason if a restart cannot help, else empty. While Triton is away, the frontend answers 502.
        """
        reason = self.failure()
        if not reason:
            return ""
        if self._frontend is not None and self._frontend.poll() == CANNOT_START:
            return reason
        print(f"{reason}; it is started again", file=sys.stderr, flush=True)
        time.sleep(self._pauses.next(time.monotonic()))
        try:
            if not self.triton.alive():
                self.triton.stop()
                self._start_triton()
            if self._frontend is not None and self._frontend.poll() is not None:
                self._stop_frontend(self._frontend)
                self._start_frontend()
        except (PreflightError, TritonFailedError) as error:
            # The next call tries again after a longer pause.
            print(error, file=sys.stderr, flush=True)
        return ""

    def stop(self) -> None:
        """Stop the frontend, which finishes its requests, and then Triton, at once if it has served nothing."""
        if self._frontend is not None:
            self._stop_frontend(self._frontend)
        self.triton.stop(at_once=self._hurried or not self._started)
        self._lock.close()

    def _stop_frontend(self, frontend: "subprocess.Popen[bytes]") -> None:
        # After SIGTERM it would wait for proxies to notice.
        stop_child(frontend, self._settings.stop_seconds + _GRACE_SECONDS, signal.SIGINT)

    def hurry(self) -> None:
        """During a stop, do not wait for requests in flight."""
        if not self._hurried:
            os.write(1, b"dropping requests in flight; waiting for the frontend and Triton to end\n")
        self._hurried = True
        if self._frontend is not None:
            self._frontend.send_signal(signal.SIGINT)
            if self._frontend.poll() is not None:
                self.triton.kill()


def with_defaults(environ: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """The environment, and ``values`` for the settings that neither it nor the settings' file has."""
    set_values, _ = read(environ)
    return {**environ, **{f"{PREFIX}{name.upper()}": value for name, value in values.items() if name not in set_values}}


def _own_folders(work: Path) -> dict[str, str]:
    """A second Quartet of a checkout has its own database and charges."""
    if work == BUILD:
        return {}
    return {"database": f"sqlite:///{work.absolute()}/quartet.sqlite3", "usage_folder": str(work / "usage")}


async def demo_key(registry: Registry, name: str, previous: str) -> str:
    """The previous key if it is still valid, else a new one, which replaces any of this name."""
    if previous and await registry.find([api_key.digest(previous)]):
        return previous
    for entry in await registry.entries():
        if entry.name == name and entry.revoked_at is None:
            await registry.revoke(entry.prefix)
    return await registry.create(name, "free", None, {}, None)
