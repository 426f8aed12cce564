"""TLS to a Triton over real gRPC."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from frontend.config.pools import Tls
from frontend.errors import BadGateway
from frontend.tritons.triton import Triton
from tests.certificates import Authority
from tests.tritons import MODEL, GrpcTriton

HOST = "text.pool"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def server(authority: Authority) -> AsyncIterator[GrpcTriton]:
    """A server that requires a client certificate."""
    own = authority.certificate(HOST)
    made = GrpcTriton(
        "127.0.0.1",
        credentials=grpc.ssl_server_credentials([(own.key, own.pem)], authority.own.pem, require_client_auth=True),
    )
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def tls(authority: Authority) -> Tls:
    client = authority.certificate("frontend")
    return Tls(authority.own.path, client.path, client.key_path, HOST)


async def _ready(server: GrpcTriton, tls: Tls | None) -> set[str]:
    made = Triton(f"127.0.0.1:{server.port}", tls)
    try:
        return await made.ready_models([MODEL])
    finally:
        await made.close()


async def test_a_triton_answers_if_both_sides_are_trusted(server: GrpcTriton, tls: Tls) -> None:
    assert await _ready(server, tls) == {MODEL}


@pytest.mark.parametrize("without", ["a certificate", "the name", "the authority", "tls"])
async def test_a_call_without_trust_fails(
    server: GrpcTriton, tls: Tls, without: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    given = {
        "a certificate": replace(tls, certificate=None, key=None),
        "the name": replace(tls, name="another.pool"),
        "the authority": replace(tls, ca=Authority(tmp_path_factory.mktemp("another")).own.path),
        "tls": None,
    }
    with pytest.raises(BadGateway):
        await _ready(server, given[without])


async def test_a_missing_file_raises(tls: Tls, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Triton("127.0.0.1:1", replace(tls, ca=tmp_path / "nowhere"))
