"""quartet report: what an issue needs to know of this machine and its settings, without secrets, in one file."""

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from frontend.catalogue.version import VERSION
from frontend.commands.check import exports, problems
from frontend.commands.hidden import SECRET, SHOWN, hidden, secrets_in, secrets_of, without_secrets
from frontend.commands.reach import reach
from frontend.commands.tables import columns
from frontend.config import reading
from frontend.config.fields import Fields
from frontend.config.reading import CONFIG_FILE, PREFIX, SettingsError
from frontend.config.settings import Settings
from frontend.observe.hiding import HIDDEN

_FILE = Path("quartet-report.txt")
# Where 'make run' writes.
_LOGS = (Path("build/frontend.log"), Path("build/triton/triton.log"))
# Lines of the frontend in JSON and plain, of Triton, and of Python where nothing catches an error.
_ERROR = re.compile(
    r'"level":"(ERROR|WARNING|CRITICAL)"|[+-]\d{4} (ERROR|WARNING|CRITICAL) |\b[EW]\d{4} \d\d:'
    r"|^Traceback |^[\w.]+Error\b"
)
_MOST_ERRORS = 40  # lines of each log
_LONGEST_LINE = 2000
_ASK_SECONDS = 20  # nvidia-smi hangs if the driver is at fault
_GPU = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version,mig.mode.current", "--format=csv,noheader"]
# What decides which precision is fast.
_FLAGS = {"avx2", "avx512f", "avx512_bf16", "avx512_vnni", "avx_vnni", "amx_bf16", "amx_int8"}
_LIMITS = ("cpu.max", "memory.max")


def add_parsers(commands: Any) -> None:
    report = commands.add_parser("report", help="write versions, machine, settings without secrets and last errors")
    report.add_argument("--output", type=Path, default=_FILE, help="default: %(default)s; - prints it")
    report.add_argument("--log", action="append", default=[], help="a log to read errors from; - is standard input")
    report.set_defaults(run=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Write the report. Bad settings do not prevent it: they are a part of it."""
    text = _report(environ, arguments.log or [str(path) for path in _LOGS if path.is_file()])
    if str(arguments.output) == "-":
        print(text, end="")
        return
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--output: {arguments.output}: {error.strerror}") from None
    print(f"{arguments.output} is written; read it before you attach it: it names hosts and organisations")


def _report(environ: Mapping[str, str], logs: Sequence[str]) -> str:
    values: Mapping[str, Any] = {}
    sources: Mapping[str, str] = {}
    # Also of those that cannot be read for a fault of another.
    secrets = secrets_of(secrets_in(environ))
    try:
        values, sources = reading.read(environ)
        secrets = secrets_of(values)
        settings = Settings.from_env(environ)
    except SettingsError as error:
        own = [*_settings(values, sources, False), *_unread(values, environ), *str(error).splitlines()]
        parts: dict[str, Callable[[], Iterable[str]]] = {"Settings, which are bad": lambda: own}
    else:
        parts = {
            "Settings": lambda: _settings(values, sources, True),
            "Problems": lambda: problems(settings),
            "Models": lambda: exports(settings),
            "Services": lambda: [line for line, _ in asyncio.run(reach(settings))],
        }
    parts = {"Versions": _versions, "Machine": _machine, **parts}
    parts |= {f"Last errors and warnings of {log}": partial(_errors, log, secrets) for log in logs}
    text = "\n".join(f"## {name}\n\n" + "".join(f"{line}\n" for line in _lines(part)) for name, part in parts.items())
    return without_secrets(text, secrets)


def _lines(part: Callable[[], Iterable[str]]) -> Iterable[str]:
    try:
        return list(part()) or ["none"]
    except Exception as error:
        # What is broken on this machine must not keep the rest from those who can mend it.
        return [f"{type(error).__name__}: {error}"]


def _versions() -> list[str]:
    packages = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    return [
        f"Quartet {VERSION}",
        f"Python {platform.python_version()} at {sys.executable}",
        f"{platform.platform()}, {_value(Path('/etc/os-release'), 'PRETTY_NAME')}",
        ", ".join(f"{name} {packages[name]}" for name in sorted(packages, key=str.lower)),
    ]


def _machine() -> Iterator[str]:
    cpuinfo = Path("/proc/cpuinfo")
    flags = ", ".join(sorted(_FLAGS & set(_value(cpuinfo, "flags").split())))
    yield f"processor: {_value(cpuinfo, 'model name')}; {flags or 'none of the fast formats'}"
    yield f"processors: {len(os.sched_getaffinity(0))} of {os.cpu_count()}"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield f"memory: {memory / 1e9:.1f} GB, {_value(Path('/proc/meminfo'), 'MemAvailable')} available"
    yield f"disk: {shutil.disk_usage('.').free / 1e9:.1f} GB free in {Path.cwd()}"
    for name in _LIMITS:
        if (file := Path("/sys/fs/cgroup", name)).is_file():
            yield f"limit of the container: {name} {file.read_text(encoding='ascii').strip()}"
    yield from (f"GPU: {line}" for line in _gpus())


def _gpus() -> list[str]:
    try:
        ended = subprocess.run(_GPU, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return [f"none ({type(error).__name__} of nvidia-smi)"]
    return (ended.stdout or ended.stderr or "none").strip().splitlines()


def _value(file: Path, name: str) -> str:
    """The first value of a name in a file of ``name: value`` or ``name=value`` lines."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    found = re.search(rf"^{name}\s*[:=]\s*(.*)$", text, re.MULTILINE)
    return found[1].strip('" ') if found else "unknown"


def _settings(values: Mapping[str, Any], sources: Mapping[str, str], good: bool) -> list[str]:
    """Every setting that has a value of its own, and where it comes from."""
    rows = [(name, _shown(name, value, good), sources.get(name, CONFIG_FILE)) for name, value in sorted(values.items())]
    return [*(columns(rows) if rows else ()), f"{len(fields(Fields))} settings; those that are not here have defaults"]


def _shown(name: str, value: Any, good: bool) -> str:
    """The value, if it may be shown. The names in a bad table may be misspelt ones of secrets."""
    if name in SECRET:
        return hidden(str(value))
    if name not in SHOWN:
        return HIDDEN
    if isinstance(value, dict | list):
        return json.dumps(value, default=str) if good else "a table"
    return str(value)


def _unread(values: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """The names of variables whose values could not be read, because one is bad."""
    return [] if values else sorted(name for name in environ if name.startswith(PREFIX))


def _errors(log: str, secrets: Iterable[str]) -> Iterable[str]:
    """The last lines of a log that tell of an error or a warning, with the indented ones that follow each.

    A long one is cut where no part of a secret is left.
    """
    last: deque[str] = deque(maxlen=_MOST_ERRORS)
    is_error = False
    with open(0 if log == "-" else log, encoding="utf-8", errors="replace", closefd=log != "-") as lines:
        for line in lines:
            is_error = bool(_ERROR.search(line)) or (is_error and line.startswith(" "))
            if is_error:
                last.append(line.rstrip()[: 2 * _LONGEST_LINE])
    return [without_secrets(line, secrets)[:_LONGEST_LINE] for line in last]
