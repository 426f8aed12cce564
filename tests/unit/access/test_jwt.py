import base64
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from frontend.access.jwks import Jwks
from frontend.access.jwt import Tokens
from frontend.errors import Unauthorized

SECRET = "s" * 32
TOKENS = Tokens("phones", "us", SECRET)


def _claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {"sub": "phone-1", "iat": now, "exp": now + 60, "aud": "phones", "iss": "us", **changes}
    return {name: value for name, value in claims.items() if value is not None}


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


async def _refused(tokens: Tokens, token: str) -> None:
    with pytest.raises(Unauthorized):
        await tokens.identify(token)


async def test_tokens_of_one_subject_are_one_caller() -> None:
    first, second = [await TOKENS.identify(TOKENS.issue("phone-1", seconds)) for seconds in (60, 90)]
    other = await TOKENS.identify(TOKENS.issue("phone-2", 60))
    assert first.id == second.id != other.id


async def test_a_subject_may_have_128_characters() -> None:
    assert await TOKENS.identify(TOKENS.issue("x" * 128, 60))


async def test_a_caller_does_not_contain_the_subject() -> None:
    assert "phone-1" not in repr(await TOKENS.identify(TOKENS.issue("phone-1", 60)))


@pytest.mark.parametrize("claim", ["exp", "iat", "sub", "aud", "iss"])
async def test_a_token_without_a_claim_is_refused(claim: str) -> None:
    await _refused(TOKENS, jwt.encode(_claims(**{claim: None}), SECRET, algorithm="HS256"))


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": "soon"},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": 253_402_300_800},
        {"exp": "253402300800"},
        {"exp": 10**20},
        {"exp": 10**400},
        {"exp": 1e300},
        {"iat": time.time() + 3600},
        {"nbf": time.time() + 3600},
        {"aud": "others"},
        {"iss": "them"},
        {"sub": ""},
        {"sub": "x" * 129},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(changes: dict[str, Any]) -> None:
    parts = [_part({"alg": "HS256", "typ": "JWT"}), _part(_claims(**changes))]
    signature = jwt.get_algorithm_by_name("HS256").sign(".".join(parts).encode(), SECRET.encode())
    await _refused(TOKENS, ".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=").decode()]))


async def test_a_token_may_be_valid_until_the_year_9999() -> None:
    assert await TOKENS.identify(jwt.encode(_claims(exp=253_402_300_799), SECRET, algorithm="HS256"))


@pytest.mark.parametrize("changes", [{"exp": -30}, {"iat": 30}, {"nbf": 30}])
async def test_clocks_may_differ_by_the_leeway_and_no_more(changes: dict[str, int]) -> None:
    now = int(time.time())
    token = jwt.encode(_claims(**{name: now + at for name, at in changes.items()}), SECRET, algorithm="HS256")
    assert await Tokens("phones", "us", SECRET, leeway=60).identify(token)
    await _refused(Tokens("phones", "us", SECRET, leeway=10), token)
    await _refused(TOKENS, token)


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
async def test_another_algorithm_of_the_same_secret_is_refused(algorithm: str) -> None:
    await _refused(Tokens("phones", "us", SECRET * 2), jwt.encode(_claims(), SECRET * 2, algorithm=algorithm))


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "", 1, None])
async def test_an_unsigned_token_is_refused(algorithm: object) -> None:
    await _refused(TOKENS, f"{_part({'alg': algorithm})}.{_part(_claims())}.")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a",
        "a.b.c",
        "....",
        TOKENS.issue("a", 60)[:-2],
        "é.é.é",
        f"{_part([])}.{_part({})}.x",
        f"{_part({'alg': 'HS256', 'kid': 7})}.{_part({})}.x",
        f"{_part({'alg': 'HS256', 'crit': ['x']})}.{_part({})}.x",
        base64.urlsafe_b64encode(b"[" * 6000).decode() + ".e30.x",
        base64.urlsafe_b64encode(b"\xff\xfe").decode() + ".e30.x",
    ],
)
async def test_a_malformed_token_is_refused(token: str) -> None:
    await _refused(TOKENS, token)


async def test_without_a_secret_every_token_is_refused() -> None:
    await _refused(Tokens("phones", "us"), jwt.encode(_claims(), "x" * 32, algorithm="HS256"))


PRIVATE: dict[str, Any] = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def _public(algorithm: str, kid: str, **more: str) -> dict[str, Any]:
    entry: dict[str, Any] = jwt.get_algorithm_by_name(algorithm).to_jwk(PRIVATE[algorithm].public_key(), as_dict=True)
    return {**entry, "kid": kid, "alg": algorithm, "use": "sig", **more}


@pytest.fixture
async def signed(tmp_path: Any) -> Any:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [_public(name, name) for name in PRIVATE]}))
    jwks = Jwks(str(path), 300)
    await jwks.start()
    yield Tokens("phones", "us", SECRET, jwks)
    await jwks.close()


@pytest.mark.parametrize("algorithm", list(PRIVATE))
async def test_a_token_of_a_public_key_is_known(signed: Tokens, algorithm: str) -> None:
    token = jwt.encode(_claims(), PRIVATE[algorithm], algorithm=algorithm, headers={"kid": algorithm})
    assert (await signed.identify(token)).id.startswith("sub-")


async def test_the_shared_secret_works_besides_public_keys(signed: Tokens) -> None:
    assert await signed.identify(TOKENS.issue("a", 60))


async def test_a_public_key_used_as_a_secret_is_refused(signed: Tokens) -> None:
    pem = json.dumps(_public("RS256", "RS256")).encode()
    header, payload = _part({"alg": "HS256", "kid": "RS256"}), _part(_claims())
    signature = jwt.get_algorithm_by_name("HS256").sign(f"{header}.{payload}".encode(), pem)
    await _refused(signed, f"{header}.{payload}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}")


async def test_a_token_with_the_id_of_another_key_is_refused(signed: Tokens) -> None:
    await _refused(signed, jwt.encode(_claims(), PRIVATE["ES256"], algorithm="ES256", headers={"kid": "RS256"}))


@pytest.mark.parametrize("kid", ["unknown", "../../dev/null", ""])
async def test_a_name_that_is_not_in_the_set_is_refused(signed: Tokens, kid: str) -> None:
    await _refused(signed, jwt.encode(_claims(), PRIVATE["ES256"], algorithm="ES256", headers={"kid": kid}))


async def test_keys_inside_a_token_are_ignored(signed: Tokens) -> None:
    stranger = ec.generate_private_key(ec.SECP256R1())
    brought = jwt.get_algorithm_by_name("ES256").to_jwk(stranger.public_key(), as_dict=True)
    headers = {"jwk": brought, "jku": "https://127.0.0.1:1/keys", "x5u": "https://127.0.0.1:1/keys"}
    await _refused(signed, jwt.encode(_claims(), stranger, algorithm="ES256", headers=headers))
