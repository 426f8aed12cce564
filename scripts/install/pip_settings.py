"""Where this machine's pip installs from, in uv's words: uv reads neither pip's files nor its variables."""

import ast
from collections.abc import Mapping

# Settings of pip that say nothing about what is installed.
_IDLE = {"config-file", "disable-pip-version-check", "quiet", "verbose", "no-cache-dir", "cache-dir", "progress-bar"}
_IDLE |= {"no-input", "root-user-action", "retries", "no-color", "log", "require-virtualenv", "break-system-packages"}
# A setting of pip to uv's variable and what stands between several values there.
_WORDS = {
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
# The later goes before the earlier.
_SECTIONS = ("global", "install", ":env:")


def uv_environment(listed: str) -> Mapping[str, str] | None:
    """The variables for uv, of what ``pip config list`` printed; None where pip was told what uv does not know."""
    settings: dict[str, str] = {}
    lines = [line.partition("=")[::2] for line in listed.splitlines() if "=" in line]
    for section in _SECTIONS:
        for name, value in lines:
            if name.startswith(f"{section}."):
                settings[name.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    if settings.keys() - _WORDS.keys() - _IDLE:
        return None
    # pip takes the best version of all its indexes, uv that of the first that has one.
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, value in settings.items():
        if name in _WORDS:
            variable, between = _WORDS[name]
            found[variable] = between.join(value.split())
    return found
