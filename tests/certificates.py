"""Certificates from a certificate authority for tests."""

import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_LONG_AFTER = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key, and their contents."""

    path: Path
    key_path: Path

    @property
    def pem(self) -> bytes:
        return self.path.read_bytes()

    @property
    def key(self) -> bytes:
        return self.key_path.read_bytes()


class Authority:
    """Signs certificates and writes them to ``folder``; ``own`` is the authority's certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(f"authority {folder.name}")
        self.own = self._sign("ca", self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))

    def certificate(self, host: str) -> Certificate:
        """A certificate for a server or client of that name."""
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        return self._sign(host, _named(host), ec.generate_private_key(ec.SECP256R1()), names)

    def _sign(
        self, name: str, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> Certificate:
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(_LONG_AGO).not_valid_after(_LONG_AFTER).add_extension(extension, True)
        made = Certificate(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        made.path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        made.key_path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return made


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
