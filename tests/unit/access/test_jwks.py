import codecs
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from frontend.access import jwks as module
from frontend.access.jwks import Jwks, is_address, parse
from frontend.config.reading import SettingsError


def _entry(kid: str) -> dict[str, Any]:
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    return {**jwt.get_algorithm_by_name("ES256").to_jwk(public, as_dict=True), "kid": kid}


ENTRIES = {name: _entry(name) for name in ("old", "new")}


class Issuer:
    """A server of a key set that counts requests and can fail."""

    def __init__(self) -> None:
        self.kids, self.asked, self.status, self.padding = ["old"], 0, 200, ""

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        keys = [ENTRIES[kid] for kid in self.kids]
        return web.json_response({"keys": keys, "padding": self.padding}, status=self.status)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
async def jwks(issuer: Issuer) -> AsyncIterator[Jwks]:
    app = web.Application()
    app.router.add_get("/keys", issuer.answer)
    async with TestServer(app) as server:
        keys = Jwks(str(server.make_url("/keys")), 300)
        await keys.start()
        yield keys
        await keys.close()


async def test_a_key_that_is_known_is_answered_without_asking(jwks: Jwks, issuer: Issuer) -> None:
    for _ in range(10):
        assert await jwks.find("old")
    assert issuer.asked == 1


async def test_a_rotated_key_is_found_at_first_use(jwks: Jwks, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COOLDOWN_SECONDS", 0.0)
    issuer.kids = ["new"]
    assert await jwks.find("new")
    assert await jwks.find("old") is None


async def test_unknown_names_do_not_flood_issuers(jwks: Jwks, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COOLDOWN_SECONDS", 60.0)
    for number in range(50):
        assert await jwks.find(f"forged-{number}") is None
    assert issuer.asked == 1


@pytest.mark.parametrize(("status", "padding"), [(500, ""), (200, "x" * 70_000)])
async def test_the_last_good_set_holds_when_the_issuer_fails(
    jwks: Jwks, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, status: int, padding: str
) -> None:
    monkeypatch.setattr(module, "_COOLDOWN_SECONDS", 0.0)
    issuer.kids, issuer.status, issuer.padding = ["new"], status, padding
    assert await jwks.find("new") is None
    assert await jwks.find("old")


@pytest.mark.parametrize(("age", "holds"), [(86_000, True), (86_500, False)])
async def test_the_last_good_set_holds_for_a_day_and_no_more(jwks: Jwks, issuer: Issuer, age: int, holds: bool) -> None:
    issuer.status = 500
    jwks._read_at -= age
    assert [await jwks.find(kid) is not None for kid in ("old", None)] == [holds, holds]


async def test_a_set_that_comes_back_after_a_day_is_taken(jwks: Jwks) -> None:
    jwks._read_at -= 86_500
    jwks._tried_at -= 86_500
    assert await jwks.find("old")


async def test_a_token_without_a_key_id_uses_the_only_key(jwks: Jwks) -> None:
    assert await jwks.find(None)


async def test_an_issuer_that_is_away_does_not_stop_the_start() -> None:
    keys = Jwks("http://127.0.0.1:1/keys", 300)
    await keys.start()
    assert await keys.find("old") is None
    await keys.close()


async def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [ENTRIES["old"]]}))
    keys = Jwks(str(path), 300)
    await keys.start()
    assert await keys.find("old")
    await keys.close()


def test_a_byte_order_mark_is_ignored() -> None:
    assert list(parse(codecs.BOM_UTF8 + json.dumps({"keys": [ENTRIES["old"]]}).encode())) == ["old"]


def test_keys_that_do_not_fit_are_left_out() -> None:
    weak = rsa.generate_private_key(65537, 2048).public_key()
    rs512 = {**jwt.get_algorithm_by_name("RS512").to_jwk(weak, as_dict=True), "kid": "rs512", "alg": "RS512"}
    others = [{"kty": "oct", "k": "c2VjcmV0", "kid": "oct"}, {"kty": "XX"}, {**_entry("enc"), "use": "enc"}, rs512]
    assert list(parse(json.dumps({"keys": [*others, ENTRIES["old"]]}).encode())) == ["old"]


_BAD: dict[str, Any] = {
    "a number": 1,
    "nothing": None,
    "a list": [],
    "a string": "key",
    "no algorithm": {**_entry("bad"), "alg": "none"},
    "an unknown algorithm": {**_entry("bad"), "alg": "ES999"},
    "a list of algorithms": {**_entry("bad"), "alg": ["ES256"]},
    "a number for its name": {**_entry("bad"), "kid": 7},
    "a list of kinds": {**_entry("bad"), "kty": ["EC"]},
    "a number for a point": {**_entry("bad"), "x": 5},
    "a point that is nowhere": {**_entry("bad"), "x": "AAAA"},
    "an unknown curve": {**_entry("bad"), "crv": "P-999"},
    "a curve without a point": {"kty": "EC"},
    "a modulus of a byte": {"kty": "RSA", "n": "AA", "e": "AA"},
    "an object for a modulus": {"kty": "RSA", "n": {}, "e": None},
    "a point of three bytes": {"kty": "OKP", "crv": "Ed25519", "x": "AAAA"},
}


@pytest.mark.parametrize("bad", _BAD.values(), ids=_BAD)
def test_a_bad_entry_leaves_the_others_and_is_told_of(bad: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert list(parse(json.dumps({"keys": [bad, ENTRIES["old"]]}).encode())) == ["old"]
    assert [record.fields["entry"] for record in caplog.records] == [0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"keys": []}', b'{"keys": [1]}', b'{"keys": 1}', b"[" * 30_000])
def test_an_invalid_key_set_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse(data)


@pytest.mark.parametrize(
    ("source", "remote"), [("keys.json", False), ("https://id.example/keys", True), ("http://127.0.0.1:9/k", True)]
)
def test_an_address_is_distinguished_from_a_file(source: str, remote: bool) -> None:
    assert is_address(source) is remote


def test_http_is_refused_for_other_machines() -> None:
    with pytest.raises(SettingsError, match="QUARTET_JWT_JWKS"):
        is_address("http://id.example/keys")
