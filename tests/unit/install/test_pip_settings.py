"""uv installs from where this machine's pip does."""

import pytest

from scripts.install.pip_settings import uv_environment

BEST = {"UV_INDEX_STRATEGY": "unsafe-best-match"}


@pytest.mark.parametrize(
    ("listed", "added"),
    [
        ("", {}),
        ("global.find-links='/one\\n/two'\n", {"UV_FIND_LINKS": "/one,/two"}),
        # A variable goes before a file.
        (":env:.index-url='https://one'\nglobal.index-url='https://two'\n", {"UV_DEFAULT_INDEX": "https://one"}),
        (":env:.disable-pip-version-check='1'\n:env:.config-file='/dev/null'\nlist.format='columns'\n", {}),
    ],
    ids=["nothing", "folders of wheels", "a variable and a file", "nothing about packages"],
)
def test_what_is_set_is_handed_on(listed: str, added: dict[str, str]) -> None:
    assert uv_environment(listed) == {**BEST, **added}


def test_indexes_and_certificates_are_handed_on() -> None:
    listed = "global.index-url='https://one/simple'\nglobal.extra-index-url='https://two file:///three'\n"
    assert uv_environment(f"{listed}global.cert='/ca.crt'\ninstall.trusted-host='one'\n") == {
        **BEST,
        "UV_DEFAULT_INDEX": "https://one/simple",
        "UV_INDEX": "https://two file:///three",
        "SSL_CERT_FILE": "/ca.crt",
        "UV_INSECURE_HOST": "one",
    }


def test_a_setting_that_uv_has_not_leaves_the_work_to_pip() -> None:
    assert uv_environment("global.no-index='true'\n") is None
