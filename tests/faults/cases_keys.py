"""Wrong keys and tokens, beside what ``tests/unit/access`` refuses: name to bytes and status."""

import base64
import json
import time
from typing import Any

import jwt

from frontend.access import api_key
from tests.conftest import JWT_SECRET, KEY
from tests.faults.cases_http import EMBED, Cases
from tests.raw import head


def keys() -> Cases:
    """API keys that are none."""
    cases: Cases = {}
    wrong = {
        "unknown": api_key.new_key(),
        "of spaces": "   ",
        "in Cyrillic": "ключ",
        "with a quote": "' OR 1=1 --",
        "of 8 kB less the header": "k" * 8000,
    }
    for name, key in wrong.items():
        cases[f"a key {name}"] = (head("GET", "/v1/models", key=key), 401)
    raw = {
        "two headers": f"Authorization: Bearer {KEY}\r\nAuthorization: Bearer {KEY}\r\n".encode(),
        "another header": f"X-Api-Key: {KEY}\r\n".encode(),
        "a cookie": f"Cookie: key={KEY}\r\n".encode(),
    }
    for name, line in raw.items():
        cases[f"a key in {name}"] = (b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n", 401)
    cases["an unknown key with 25 MB announced"] = (head("POST", EMBED, "Content-Length: 26214400", key="x"), 401)
    return cases


def tokens() -> Cases:
    """Mobile tokens that are none."""
    now = int(time.time())
    claims: dict[str, Any] = {"sub": "a", "iat": now, "exp": now + 3600, "aud": "quartet-mobile", "iss": "quartet"}

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    def signed(secret: str = JWT_SECRET, **changes: Any) -> str:
        return jwt.encode({**claims, **changes}, secret, algorithm="HS256")

    wrong = {
        "an API key": KEY,
        "of another secret": signed("t" * 32),
        "alg none": f"{part({'alg': 'none'})}.{part(claims)}.",
        "jku": f"{part({'alg': 'RS256', 'jku': 'http://127.0.0.1:1/'})}.{part(claims)}.x",
        "another payload": ".".join([signed().split(".")[0], part({**claims, "sub": "b"}), signed().split(".")[2]]),
        "expired": signed(iat=now - 100, exp=now - 1),
        "two tokens": f"{signed()} {signed()}",
        "of 9 kB": signed(more="x" * 6_000),
        "of 1 MB": signed(more="x" * 750_000),
    }
    return {f"a token {name}": (head("GET", "/api/v1/audio/voices", key=token), 401) for name, token in wrong.items()}
