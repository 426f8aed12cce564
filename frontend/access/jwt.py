"""Mobile tokens: HS256 JWTs with exp, iat, sub, aud and iss."""

import time
from dataclasses import dataclass

import jwt

from frontend.access.keys import Caller
from frontend.errors import Unauthorized

_REQUIRED = ["exp", "iat", "sub", "aud", "iss"]
_REFUSED = "the token is missing, invalid or expired"


@dataclass(frozen=True)
class Tokens:
    """Checks and issues tokens of one secret (32 bytes or more), audience and issuer."""

    secret: str
    audience: str
    issuer: str

    def identify(self, token: str) -> Caller:
        """The caller behind a token; 401 for any fault in it."""
        if not self.secret:
            raise Unauthorized(_REFUSED)
        try:
            claims = jwt.decode(
                token,
                self.secret,
                algorithms=["HS256"],
                audience=self.audience,
                issuer=self.issuer,
                options={"require": _REQUIRED},
            )
        except jwt.PyJWTError:
            raise Unauthorized(_REFUSED, headers={"WWW-Authenticate": "Bearer"}) from None
        return Caller(str(claims["sub"]))

    def issue(self, subject: str, seconds: int) -> str:
        """A token for ``subject`` that holds for ``seconds``."""
        now = int(time.time())
        claims = {"sub": subject, "iat": now, "exp": now + seconds, "aud": self.audience, "iss": self.issuer}
        return jwt.encode(claims, self.secret, algorithm="HS256")
