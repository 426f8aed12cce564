import pytest

from frontend.config.proxies import exclude_this_machine, no_proxy

_HERE = "localhost,127.0.0.1,::1"


@pytest.mark.parametrize(
    ("environ", "value"),
    [
        ({}, _HERE),
        ({"no_proxy": ""}, _HERE),
        ({"no_proxy": "localhost, .example"}, "localhost,.example,127.0.0.1,::1"),
        ({"NO_PROXY": ".example"}, f".example,{_HERE}"),
        ({"no_proxy": ".a", "NO_PROXY": ".b"}, f".a,{_HERE}"),
        ({"no_proxy": "*"}, "*"),
    ],
)
def test_this_machine_is_added_to_no_proxy(environ: dict[str, str], value: str) -> None:
    assert no_proxy(environ) == value


def test_the_environment_is_changed() -> None:
    environ = {"http_proxy": "http://proxy"}
    exclude_this_machine(environ)
    assert environ == {"http_proxy": "http://proxy", "no_proxy": _HERE}
