"""Checks before anything is installed, exported or started. Each error is one sentence.

    python -m scripts.run.preflight run --port 8080 --models demo

It needs only the standard library: a new machine runs this first.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it at once, without a traceback, even if the caller ignores SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from frontend.catalogue.kokoro import DEMO_SPEAKERS, Speaker
from frontend.catalogue.models import Added
from frontend.config.proxies import exclude_this_machine
from scripts.export_models import space, stamp
from scripts.export_models.added import AddedVoices, speakers
from scripts.export_models.added_models import added_of, checkpoint_of
from scripts.export_models.checkpoints import Checkpoint, SourceError
from scripts.export_models.plan import MODELS, models_of
from scripts.export_models.sources import Sources, source_of
from scripts.export_models.space import Need
from scripts.local_triton import checks
from scripts.local_triton.checks import PreflightError
from scripts.machine import memory_bytes
from scripts.run import state
from scripts.run.fit_overrides import given_processors, overrides

_GB = 10**9
_SOURCES = ("demo", "hub", "folder")
_VENV = Path(".venv")
_PACKAGES = Need(_VENV, 3.5 * _GB, "packages and what their installer keeps")
# Memory in bytes to export and run a choice of models.
_MEMORY = {"demo": 5 * _GB, "folder": 10 * _GB, "hub": 10 * _GB}
# Duration on two cores.
_MINUTES = {_PACKAGES.what: ", 1 to 5 minutes"}
_DEMO_MINUTES = {"exports": ", made here in 3 to 7 minutes"}
_PRECISIONS = {"run": ("auto", "int8", "bf16", "fp32"), "export": ("auto", "int8", "bf16", "fp32", "fp16")}


@dataclass(frozen=True)
class Choice:
    """An action on models, and the facts to compare them with; ``port`` and ``state`` are for ``run``."""

    action: str
    models: str = "demo"
    folder: str = ""
    precision: str = "auto"
    strict: str = ""
    port: str = "8080"
    state: Path = state.BUILD
    facts: str = ""
    voices_folder: str = ""

    @property
    def added(self) -> AddedVoices:
        """The added voices; raises ``SourceError`` if their folder does not exist."""
        return AddedVoices.of(Path(self.voices_folder) if self.voices_folder else None, self.speakers)

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        """The voices of Kokoro; raises ``SourceError`` for one of the settings file that cannot be."""
        return speakers(self.models, os.environ)

    @property
    def own(self) -> Added:
        """What the catalogue does not describe; raises ``SourceError`` for what cannot be."""
        models = tuple(added.model() for added in added_of(os.environ))
        return Added((*(speaker.voice for speaker in self.speakers), *self.added.voices.values()), models)

    @property
    def is_verified(self) -> bool:
        """Whether the models are compared with facts: the given ones, or the published ones of the hub's models."""
        return bool(self.facts) or self.models == "hub"

    @property
    def known_facts(self) -> str:
        """The facts about the models, or empty if nothing is known about those of a folder."""
        return self.facts or ("" if self.models == "folder" else self.models)

    @property
    def models_text(self) -> str:
        """The choice of models as the user writes it."""
        folder = f" FOLDER={self.folder}" if self.folder else ""
        strict = f" STRICT={self.strict}" if self.strict else ""
        voices = f" VOICES_FOLDER={self.voices_folder}" if self.voices_folder else ""
        named = ",".join(f"{each.voice.name}:{each.style}" for each in self.speakers if each not in DEMO_SPEAKERS)
        own = f" [voices] {named}" if named else ""
        if models := ",".join(f"{added.name}:{added.checkpoint}" for added in added_of(os.environ)):
            own += f" [models] {models}"
        return f"MODELS={self.models}{folder} PRECISION={self.precision}{strict}{voices}{own}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an argument for each field of a ``Choice`` except its action. ``check`` checks their values."""
    parser.add_argument("--models", default="demo", help="demo, hub or folder")
    parser.add_argument("--folder", default="", help="for --models folder: checkpoints laid out as on the hub")
    parser.add_argument(
        "--voices-folder", default="", help="a folder of Piper voices to add: NAME.onnx and NAME.onnx.json"
    )
    parser.add_argument("--precision", default="auto", help="the first to try: auto, int8, bf16 or fp32")
    parser.add_argument("--strict", default="", help="1: fail if that precision is not good enough")
    parser.add_argument("--port", default="8080")
    parser.add_argument("--state", type=Path, default=state.BUILD, help="the folder of keys and logs")
    parser.add_argument("--facts", default="", help="a file of facts to compare the models with (hub: the published)")


def check(choice: Choice) -> list[str]:
    """Check cheap things first. Return a line for each model that cannot be exported while others can.

    Raises ``PreflightError`` for the first fault.
    """
    faults: list[str] = []
    check_models(choice)
    overrides(os.environ)
    given_processors(os.environ)
    for folder in (Path(), choice.state):
        checks.check_path(folder.resolve())
    state.check_writable(choice.state)
    if choice.action == "run":
        port = port_of(choice.port)
        state.check_folder(choice.state)
        checks.check_port(port)
        checks.check_glibc()
        checks.find_libpython()
    try:
        state.check_models(choice.models_text)
    except SourceError as error:
        raise PreflightError(str(error)) from None
    if choice.models == "folder":
        if not Path(choice.folder).is_dir():
            raise PreflightError(f"FOLDER={choice.folder}: there is no such folder")
        faults = check_source(_source(choice))
    faults += _will_not_be_served(_source(choice).faults_of_own())
    if choice.voices_folder:
        faults += faults_of_voices(choice)
    check_python()
    check_machine(choice)
    if choice.models == "hub" and not set(missing(choice)).isdisjoint(MODELS):
        faults += check_source(_source(choice))
    return faults


def faults_of_voices(choice: Choice) -> list[str]:
    """A line for each added voice that cannot be served; raises ``PreflightError`` if there is no such folder."""
    if not Path(choice.voices_folder).is_dir():
        raise PreflightError(f"VOICES_FOLDER={choice.voices_folder}: there is no such folder")
    found = choice.added
    return [*_will_not_be_served(found.faults), *found.misnamed]


def check_models(choice: Choice) -> None:
    """Check names and combinations."""
    if choice.models not in _SOURCES:
        raise PreflightError(f"MODELS={choice.models}: must be one of {', '.join(_SOURCES)}")
    precisions = _PRECISIONS[choice.action]
    if choice.precision not in precisions:
        raise PreflightError(f"PRECISION={choice.precision}: must be one of {', '.join(precisions)}")
    if choice.strict not in ("", "1"):
        raise PreflightError(f"STRICT={choice.strict}: must be 1 or nothing")
    if choice.models == "folder" and not choice.folder:
        raise PreflightError("MODELS=folder needs FOLDER=, the folder with the checkpoints")
    if choice.models != "folder" and choice.folder:
        raise PreflightError(f"FOLDER={choice.folder} goes with MODELS=folder, not with MODELS={choice.models}")
    if choice.facts and not Path(choice.facts).is_file():
        raise PreflightError(f"FACTS={choice.facts}: there is no such file")


def port_of(text: str) -> int:
    """Parse a port number."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise PreflightError(f"PORT={text}: must be a number from 1 to 65535")
    return int(text)


def check_python() -> None:
    """Check that Python can make virtual environments, which Debian packages separately."""
    if not (_VENV / "bin" / "pip").exists() and not importlib.util.find_spec("ensurepip"):
        version = sysconfig.get_python_version()
        raise PreflightError(
            f"this Python cannot make virtual environments (on Debian: apt-get install python{version}-venv)"
        )


def missing(choice: Choice) -> list[str]:
    """The models of the choice that are not exported yet."""
    voices = stamp.missing(state.REPOSITORY, choice.added.voices, stamp.ADDED)
    own = _own_checkpoints().keys() - _source(choice).faults_of_own().keys()
    models = stamp.missing(state.REPOSITORY, sorted(own), stamp.OWN)
    return [*stamp.missing(state.REPOSITORY, models_of(choice.speakers), choice.models), *voices, *models]


def check_machine(choice: Choice) -> None:
    """Check memory, and disk space for what is missing."""
    need, memory = _MEMORY[choice.models], memory_bytes()
    if memory < need:
        wanted, found = f"{need / _GB:.0f} GB of memory", f"{memory / _GB:.1f} GB"
        raise PreflightError(f"MODELS={choice.models} needs {wanted}, and {found} may be used here")
    try:
        space.check(needs(choice))
    except SourceError as error:
        raise PreflightError(str(error)) from None


def needs(choice: Choice) -> list[Need]:
    """The disk space that installation and export will take."""
    packages = [] if (_VENV / "installed").is_file() else [_PACKAGES]
    if not (models := missing(choice)):
        return packages
    sizes = space.sizes(choice.models, _source(choice), models)
    return [*packages, *space.needs(choice.models, sizes, space.WORK, state.REPOSITORY)]


def _source(choice: Choice) -> Sources:
    voices = Path(choice.voices_folder) if choice.voices_folder else None
    return source_of(choice.models, Path(choice.folder), space.WORK, voices=voices, models=_own_checkpoints())


def _own_checkpoints() -> dict[str, Checkpoint]:
    """The checkpoints of the models of the settings file, by Triton model."""
    return {added.triton_model: checkpoint_of(added, os.environ) for added in added_of(os.environ)}


def check_source(source: Sources) -> list[str]:
    """A line for each model that the source lacks, as far as a check of seconds finds.

    Raises ``PreflightError`` if it has none.
    """
    try:
        faults = source.faults_but_not_all(MODELS)
    except SourceError as error:
        raise PreflightError(str(error)) from None
    return _will_not_be_served(faults)


def _will_not_be_served(faults: Mapping[str, str]) -> list[str]:
    return [f"{model} will not be served: {fault}" for model, fault in faults.items()]


def plan(choice: Choice) -> str:
    """The disk space and time that the first start takes, or empty if nothing is missing."""
    minutes = _MINUTES | (_DEMO_MINUTES if choice.models == "demo" else {})
    lines = [f"  {need}{minutes.get(need.what, '')}" for need in needs(choice)]
    return "\n".join(["Before the first start:", *lines]) if lines else ""


def main() -> int:
    # A mirror of the hub may run on this machine.
    exclude_this_machine(os.environ)
    parser = argparse.ArgumentParser(description="Check what can be checked before anything is installed.")
    parser.add_argument("action", choices=tuple(_PRECISIONS))
    add_arguments(parser)
    choice = Choice(**vars(parser.parse_args()))
    try:
        faults = check(choice)
    except (PreflightError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    for line in faults:
        print(line, file=sys.stderr)
    if text := plan(choice):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
