"""Makes the first API key and puts it into a Secret, once: what is there already is left alone.

Runs in the frontend's image, in a pod that may read and change that one Secret.
"""

import base64
import json
import os
import ssl
import subprocess
import urllib.request
from pathlib import Path

_ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))


def _call(method: str, body: bytes | None = None) -> dict[str, object]:
    """Read or change the Secret by Kubernetes' API."""
    request = urllib.request.Request(os.environ["SECRET_ADDRESS"], data=body, method=method)
    request.add_header("Authorization", f"Bearer {(_ACCOUNT / 'token').read_text()}")
    request.add_header("Content-Type", "application/merge-patch+json")
    authority = _ACCOUNT / "ca.crt"
    context = ssl.create_default_context(cafile=str(authority)) if authority.exists() else None
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def main() -> None:
    if _call("GET").get("data"):
        return
    command = ["quartet", "keys", "create", "--name", "first", "--tier", os.environ["TIER"]]
    # The key is the last line.
    key = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    _call("PATCH", json.dumps({"data": {"api_key": base64.b64encode(key.encode()).decode()}}).encode())


if __name__ == "__main__":
    main()
