"""Mobile tokens: JWTs with exp, iat, sub, aud and iss, signed with a shared secret or with a key of a JWKS."""

import hashlib
import time
from typing import Any

import jwt

from frontend.access.caller import Caller, refuse
from frontend.access.jwks import Jwks

_REQUIRED = ["exp", "iat", "sub", "aud", "iss"]
_LONGEST_SUBJECT = 128  # characters
# The last second of the year 9999. Most libraries cannot represent a later time.
_LAST_SECOND = 253_402_300_799
_WRONG = "the token is missing, invalid or expired"
# Malicious tokens make PyJWT and json raise these, not only PyJWT's own errors.
_FAULTS = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class Tokens:
    """Checks tokens of one audience and issuer. The key decides the algorithm, never the token's header."""

    def __init__(
        self, audience: str, issuer: str, secret: str = "", jwks: Jwks | None = None, leeway: float = 0
    ) -> None:
        self._audience, self._issuer, self._secret, self._jwks, self._leeway = audience, issuer, secret, jwks, leeway

    async def identify(self, token: str) -> Caller:
        """The caller of a token, one per ``sub``. Raises ``Unauthorized`` (401) for any fault."""
        try:
            claims = await self._verified(token)
        except _FAULTS:
            raise refuse(_WRONG) from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
            raise refuse(_WRONG)
        # A subject may be personal data, so counters and logs have only its digest.
        name = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return Caller(id=f"sub-{name}", name=name)

    async def _verified(self, token: str) -> dict[str, Any]:
        key, algorithm = await self._key(jwt.get_unverified_header(token))
        options: Any = {"require": _REQUIRED, "enforce_minimum_key_length": True}
        claims = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=self._audience,
            issuer=self._issuer,
            leeway=self._leeway,
            options=options,
        )
        if int(claims["exp"]) > _LAST_SECOND:
            raise jwt.InvalidTokenError("exp is too far in the future")
        return claims

    async def _key(self, header: dict[str, Any]) -> tuple[jwt.PyJWK | str, str]:
        key = await self._jwks.find(header.get("kid")) if self._jwks is not None else None
        if key is not None:
            return key, key.algorithm_name
        if self._secret:
            return self._secret, "HS256"
        raise jwt.InvalidKeyError("no key fits")

    def issue(self, subject: str, seconds: int) -> str:
        """A token for ``subject`` that is valid for ``seconds``, signed with the secret."""
        now = int(time.time())
        claims = {"sub": subject, "iat": now, "exp": now + seconds, "aud": self._audience, "iss": self._issuer}
        return jwt.encode(claims, self._secret, algorithm="HS256")
