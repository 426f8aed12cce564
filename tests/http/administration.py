"""How tests ask the administration."""

from typing import Any

from tests.conftest import Client

ADMIN_KEY = "a" * 32


async def ask(client: Client, method: str, path: str, status: int = 200, **body: Any) -> Any:
    """What a path below /admin/v1 answers."""
    sent = body if method in ("POST", "PATCH") else None
    async with client.request(method, f"/admin/v1{path}", json=sent) as response:
        assert response.status == status, await response.text()
        return await response.json()
