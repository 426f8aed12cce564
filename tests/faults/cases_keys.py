"""Requests that are wrong in their key or token: name to bytes and the status they must get."""

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
        "with another checksum": KEY[:-1] + ("A" if KEY[-1] != "A" else "B"),
        "cut": KEY[:-1],
        "with more": KEY + "A",
        "of OpenAI": "sk-proj-" + "a" * 40,
        "of spaces": "   ",
        "in Cyrillic": "ключ",
        "with a quote": "' OR 1=1 --",
        "of 8 kB less the header": "k" * 8000,
    }
    for name, key in wrong.items():
        cases[f"a key {name}"] = (head("GET", "/v1/models", key=key), 401)
    raw = {
        "no header": b"",
        "an empty header": b"Authorization:\r\n",
        "Bearer alone": b"Authorization: Bearer\r\n",
        "Basic": b"Authorization: Basic " + base64.b64encode(f"user:{KEY}".encode()) + b"\r\n",
        "the key alone": f"Authorization: {KEY}\r\n".encode(),
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

    def signed(secret: str = JWT_SECRET, algorithm: str = "HS256", **changes: Any) -> str:
        given = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return jwt.encode(given, secret, algorithm=algorithm)

    wrong = {
        "an API key": KEY,
        "nothing": "",
        "words": "not.a.token",
        "of another secret": signed("t" * 32),
        "of HS512": signed(JWT_SECRET * 2, "HS512"),
        "alg none": f"{part({'alg': 'none'})}.{part(claims)}.",
        "alg nOnE": f"{part({'alg': 'nOnE'})}.{part(claims)}.",
        "alg missing": f"{part({})}.{part(claims)}.x",
        "alg a number": f"{part({'alg': 5})}.{part(claims)}.x",
        "a header that is a list": f"{part(['HS256'])}.{part(claims)}.x",
        "claims that are a list": f"{part({'alg': 'HS256'})}.{part([1])}.x",
        "crit": f"{part({'alg': 'HS256', 'crit': ['b64'], 'b64': False})}.{part(claims)}.x",
        "kid a number": f"{part({'alg': 'HS256', 'kid': 5})}.{part(claims)}.x",
        "kid a path": f"{part({'alg': 'HS256', 'kid': '../../dev/null'})}.{part(claims)}.x",
        "jku": f"{part({'alg': 'RS256', 'jku': 'http://127.0.0.1:1/'})}.{part(claims)}.x",
        "a cut signature": signed()[:-3],
        "another payload": ".".join([signed().split(".")[0], part({**claims, "sub": "b"}), signed().split(".")[2]]),
        "deep JSON": base64.urlsafe_b64encode(b"[" * 5000).decode() + ".e30.x",
        "no UTF-8": base64.urlsafe_b64encode(b"\xff\xfe").decode() + ".e30.x",
        "expired": signed(iat=now - 100, exp=now - 1),
        "without exp": signed(exp=None),
        "without iat": signed(iat=None),
        "without sub": signed(sub=None),
        "without aud": signed(aud=None),
        "without iss": signed(iss=None),
        "of another audience": signed(aud="others"),
        "of another issuer": signed(iss="others"),
        "issued in an hour": signed(iat=now + 3600),
        "valid in an hour": signed(nbf=now + 3600),
        "an empty subject": signed(sub=""),
        "a subject of 129 characters": signed(sub="x" * 129),
        "two tokens": f"{signed()} {signed()}",
        "of 9 kB": signed(more="x" * 6_000),
        "of 1 MB": signed(more="x" * 750_000),
    }
    return {f"a token {name}": (head("GET", "/api/v1/audio/voices", key=token), 401) for name, token in wrong.items()}
