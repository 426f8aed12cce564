"""Makes the first API key and puts it into a Secret, unless the Secret has one.

Runs in the frontend's image, in a pod that may read and change only that Secret. If the database or Kubernetes does not
answer, it revokes a key that is not in the Secret and ends with a sentence and exit code 1. Its Job then runs it again.
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
    """Read the Secret, or change it, by Kubernetes' API; ``OSError`` if that refuses or does not answer."""
    body, method = (None, "GET") if change is None else (json.dumps(change).encode(), "PATCH")
    request = urllib.request.Request(os.environ["SECRET_ADDRESS"], data=body, method=method)
    request.add_header("Authorization", f"Bearer {(_ACCOUNT / 'token').read_text()}")
    request.add_header("Content-Type", "application/merge-patch+json")
    context = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def _keys(*words: str) -> str:
    """The output of a command about keys; its errors go to the log."""
    return subprocess.run(["quartet", "keys", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def _make(secret: dict[str, Any]) -> None:
    # The key is the last line.
    key = _keys("create", "--name", "first", "--tier", os.environ["TIER"]).split()[-1]
    data = {"api_key": base64.b64encode(key.encode()).decode()}
    try:
        # If two Jobs run at once, the API refuses the second, whose version is old.
        _secret({"metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]}, "data": data})
    except OSError:
        # A request without an answer may have worked.
        if _secret().get("data") == data:
            return
        _keys("revoke", key)
        raise


def main() -> str | None:
    """Return the error, if any."""
    try:
        secret = _secret()
        if not secret.get("data"):
            _make(secret)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"the first key was not made: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
