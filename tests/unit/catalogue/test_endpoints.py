"""The paths that work for callers."""

import pytest

from frontend.app import create_app
from frontend.catalogue.endpoints import API_KEY, ENDPOINTS, MOBILE_TOKEN, auth_of
from frontend.config.settings import Settings


def test_every_path_that_works_for_a_caller_is_an_endpoint() -> None:
    app = create_app(Settings(chat_upstream="http://127.0.0.1:1/v1"))
    paths = {
        route.resource.canonical
        for route in app.router.routes()
        if route.method == "POST" and route.resource and auth_of(route.resource.canonical) in (API_KEY, MOBILE_TOKEN)
    }
    assert paths == {endpoint.path for endpoint in ENDPOINTS}


@pytest.mark.parametrize(
    ("path", "auth"),
    [
        ("/v1/models", "apiKey"),
        ("/api/v1/audio/voices", "mobileToken"),
        ("/admin/v1/keys", "adminKey"),
        ("/dashboard/data/usage", "apiKey"),
        ("/dashboard", None),
        ("/health/ready", None),
    ],
)
def test_who_may_call_a_path_is_told_by_its_beginning(path: str, auth: str | None) -> None:
    assert auth_of(path) == auth
