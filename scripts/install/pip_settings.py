"""This machine's settings of pip as variables for uv, which reads neither pip's files nor its variables."""

import ast
import subprocess
from collections.abc import Mapping
from pathlib import Path

# Settings of pip that do not change what is installed.
_IGNORED = {"config-file", "disable-pip-version-check", "quiet", "verbose", "no-cache-dir", "cache-dir", "progress-bar"}
_IGNORED |= {
    "no-input",
    "root-user-action",
    "retries",
    "no-color",
    "log",
    "require-virtualenv",
    "break-system-packages",
    "user",
}
# uv's variable for a setting of pip, and its separator of several values.
_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}
# Later sections override earlier ones.
_SECTIONS = ("global", "install", ":env:")


def uv_environment(listed: str) -> Mapping[str, str] | None:
    """The variables for uv from the output of ``pip config list``, or None if uv lacks one of the settings."""
    settings: dict[str, str] = {}
    lines = [line.partition("=")[::2] for line in listed.splitlines() if "=" in line]
    for section in _SECTIONS:
        for name, value in lines:
            if name.startswith(f"{section}."):
                settings[name.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    if settings.keys() - _VARIABLES.keys() - _IGNORED:
        return None
    # pip takes the best version of all its indexes, uv that of the first that has one.
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, value in settings.items():
        if name in _VARIABLES:
            variable, separator = _VARIABLES[name]
            found[variable] = separator.join(value.split())
    return found


def this_machines(python: Path) -> Mapping[str, str] | None:
    """The variables for uv that this machine's pip, that of ``python``, has as settings; None as above."""
    listed = [str(python), "-m", "pip", "config", "list"]
    done = subprocess.run(listed, capture_output=True, text=True, check=False)
    return uv_environment(done.stdout) if done.returncode == 0 else None
