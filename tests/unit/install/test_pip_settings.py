"""uv installs from where this machine's pip does."""

from scripts.install.pip_settings import uv_environment

BEST = {"UV_INDEX_STRATEGY": "unsafe-best-match"}


def test_nothing_set_is_the_public_index() -> None:
    assert uv_environment("") == BEST


def test_indexes_and_certificates_are_handed_on() -> None:
    listed = "global.index-url='https://one/simple'\nglobal.extra-index-url='https://two file:///three'\n"
    assert uv_environment(f"{listed}global.cert='/ca.crt'\ninstall.trusted-host='one'\n") == {
        **BEST,
        "UV_DEFAULT_INDEX": "https://one/simple",
        "UV_INDEX": "https://two file:///three",
        "SSL_CERT_FILE": "/ca.crt",
        "UV_INSECURE_HOST": "one",
    }


def test_several_folders_of_wheels_have_commas_between() -> None:
    assert uv_environment("global.find-links='/one\\n/two'\n") == {**BEST, "UV_FIND_LINKS": "/one,/two"}


def test_a_variable_goes_before_a_file() -> None:
    listed = ":env:.index-url='https://one'\nglobal.index-url='https://two'\n"
    assert uv_environment(listed) == {**BEST, "UV_DEFAULT_INDEX": "https://one"}


def test_what_says_nothing_about_packages_is_passed_over() -> None:
    listed = ":env:.disable-pip-version-check='1'\n:env:.config-file='/dev/null'\nlist.format='columns'\n"
    assert uv_environment(listed) == BEST


def test_a_setting_that_uv_has_not_leaves_the_work_to_pip() -> None:
    assert uv_environment("global.no-index='true'\n") is None
