import pytest

from frontend.config import Settings, SettingsError


def test_reads_a_variable_by_its_field_name() -> None:
    assert Settings.from_env({"QUARTET_PORT": "9000"}).port == 9000


def test_ignores_variables_of_other_programs() -> None:
    assert Settings.from_env({"PORT": "9000"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUARTET_PORT", "http"),
        ("QUARTET_PORT", "70000"),
        ("QUARTET_SPEECH_PROBABILITY", "nan"),
        ("QUARTET_TOKEN_BUDGET", "100"),
        ("QUARTET_JWT_SECRET", "short"),
        ("QUARTET_PROT", "8080"),
    ],
)
def test_a_bad_setting_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_env({name: value})


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(Settings(api_key="hidden"))
