"""Makes the first API key and puts it into a Secret, once: what is there already is left alone.

Runs in the frontend's image, in a pod that may read and change that one Secret. Where something is away it ends with a
sentence and exit code 1, and its Job runs it again: a key that is not in the Secret is revoked before that.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

_ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))


def _secret(change: dict[str, Any] | None = None) -> dict[str, Any]:
    """The Secret, changed where there is a change, by Kubernetes' API; ``OSError`` where that says no or nothing."""
    body, method = (None, "GET") if change is None else (json.dumps(change).encode(), "PATCH")
    request = urllib.request.Request(os.environ["SECRET_ADDRESS"], data=body, method=method)
    request.add_header("Authorization", f"Bearer {(_ACCOUNT / 'token').read_text()}")
    request.add_header("Content-Type", "application/merge-patch+json")
    context = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def _keys(*words: str) -> str:
    """What a command about keys prints; what it complains of goes to the log."""
    return subprocess.run(["quartet", "keys", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def _make(secret: dict[str, Any]) -> None:
    # The key is the last line.
    key = _keys("create", "--name", "first", "--tier", os.environ["TIER"]).split()[-1]
    data = {"api_key": base64.b64encode(key.encode()).decode()}
    try:
        # Of two Jobs at once, the later one's version is an old one, and it is refused.
        _secret({"metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]}, "data": data})
    except OSError:
        # What was not answered may have been done all the same.
        if _secret().get("data") == data:
            return
        _keys("revoke", key)
        raise


def main() -> str | None:
    """Answers what went wrong."""
    try:
        secret = _secret()
        if not secret.get("data"):
            _make(secret)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"the first key is not made: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
