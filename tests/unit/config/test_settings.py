import re
from dataclasses import replace
from pathlib import Path

import pytest

from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import Added
from frontend.catalogue.voices import Voice
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from tests.conftest import ROOT
from tests.unit.config.conftest import File


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUARTET_PORT", "http"),
        ("QUARTET_PORT", "70000"),
        ("QUARTET_SPEECH_PROBABILITY", "nan"),
        ("QUARTET_TOKEN_BUDGET", "100"),
        ("QUARTET_JWT_SECRET", "short"),
        ("QUARTET_PROT", "8080"),
        ("QUARTET_REDIS", "localhost:6379"),
        ("QUARTET_CHAT_UPSTREAM", "localhost:8000"),
        ("QUARTET_MANUAL", "docs.example.com"),
        ("QUARTET_CHAT_UPSTREAM", "http://user:password@chat/v1"),
        ("QUARTET_MANUAL", "https://user:password@docs.example.com"),
        ("QUARTET_JWT_JWKS", "https://user:password@keys/jwks.json"),
        ("QUARTET_OTLP_ENDPOINT", "http://:password@traces:4317"),
        ("QUARTET_REDIS_OUTAGE", "panic"),
        ("QUARTET_LIMITS", "embeddings=5"),
        ("QUARTET_CONFIG", "/nowhere/quartet.toml"),
        ("QUARTET_WORKERS", "2"),
        ("QUARTET_MODELS", "stt-1,whisper"),
        ("QUARTET_VOICES", "alloy"),
        ("QUARTET_EXTENSIONS", "subtitles,karaoke"),
        ("QUARTET_READY_MODELS", "whisper"),
        ("QUARTET_TRUSTED_PROXIES", "nginx"),
        ("QUARTET_CORS_ORIGINS", "app.example.com"),
        ("QUARTET_CORS_ORIGINS", "https://app.example.com/"),
        ("QUARTET_CORS_ORIGINS", "https://App.example.com"),
        ("QUARTET_CORS_ORIGINS", "https://*.example.com"),
        ("QUARTET_CORS_ORIGINS", "https://app.example.com,null"),
    ],
)
def test_an_invalid_variable_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_env({name: value})


def test_all_faults_are_reported_at_once(file: File) -> None:
    variables = {"QUARTET_PORT": "http", "QUARTET_PROT": "1", "QUARTET_REDIS_OUTAGE": "panic"}
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({**file("threads = 0\n[limits]\nembedding = 1"), **variables})
    assert set(str(caught.value).splitlines()) == {
        "QUARTET_PORT: must be a valid integer, not 'http'",
        "QUARTET_REDIS_OUTAGE: must be 'local' or 'refuse', not 'panic'",
        "QUARTET_PROT: there is no such setting",
        "threads: must be greater than or equal to 1, not '0'",
        f"limits.embedding: there is no limit 'embedding'; there are {', '.join(LIMITS)}",
    }


def test_an_error_has_no_secret() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"QUARTET_JWT_SECRET": "hidden", "QUARTET_REDIS": "hidden"})
    assert "hidden" not in str(caught.value)


def test_origins_are_separated_by_commas() -> None:
    given = "https://app.example.com, http://localhost:5173,capacitor://localhost,http://[::1]:8000,"
    settings = Settings.from_env({"QUARTET_CORS_ORIGINS": given})
    assert settings.allowed_origins == {
        "https://app.example.com",
        "http://localhost:5173",
        "capacitor://localhost",
        "http://[::1]:8000",
    }


@pytest.mark.parametrize("secret", ["with space", "ä", "two\nlines"])
def test_a_secret_that_no_header_can_carry_is_refused(secret: str) -> None:
    with pytest.raises(SettingsError, match="QUARTET_TRITON_SECRET: must have only visible ASCII"):
        Settings.from_env({"QUARTET_TRITON_SECRET": secret})


@pytest.mark.parametrize("address", ["https://keys/@me", "https://keys?to=a@b", "https://keys#a@b"])
def test_an_at_sign_behind_the_host_is_no_user(address: str) -> None:
    assert Settings.from_env({"QUARTET_JWT_JWKS": address}).jwt_jwks == address


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(Settings(jwt_secret="hidden", database="hidden", redis="hidden"))


def test_a_file_gives_settings_limits_and_the_limits_of_tiers(file: File) -> None:
    text = "port = 9000\n[limits]\nembeddings = 7\n[tiers.pro]\nembeddings = 70\n"
    settings = Settings.from_env(file(text))
    assert settings.port == 9000
    assert (settings.limits["embeddings"], settings.limits["speech"]) == (7, 120)
    assert settings.tiers == {"pro": {"embeddings": 70}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[aliases.models]\nx = 'stt-2'", "aliases.models.x: 'stt-2' is not served; there are stt-1, tts-1$"),
        ("[aliases.models]\nx = 'embed-m3'", "aliases.models.x: 'embed-m3' is not served; there are stt-1, tts-1$"),
        (
            "[aliases.models]\nstt-1-hd = 'stt-1'",
            "aliases.models.stt-1-hd: is a name already, and must stay what it is",
        ),
        ("[aliases.voices]\nx = 'ryan'", "aliases.voices.x: 'ryan' is not served; there are amy$"),
        ("[aliases.voices]\nryan = 'amy'", "aliases.voices.ryan: is a name already"),
        (
            "[aliases]\nignore = ['speed']",
            "aliases.ignore: 'speed' is a parameter of speech, and means something there",
        ),
    ],
)
def test_an_alias_of_an_unserved_name_or_with_an_existing_name_is_refused(file: File, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=f"^{sentence}"):
        Settings.from_env(file(f"models = 'stt-1,tts-1'\nvoices = 'amy'\n{text}"))


def test_pools_floors_aliases_and_defaults_may_have_the_voices_of_the_repository(tmp_path: Path, file: File) -> None:
    folder = tmp_path / "piper_eva" / "1"
    folder.mkdir(parents=True)
    (folder / "voice.json").write_text('{"added": {"language": "es", "gender": "female"}}', encoding="utf-8")
    text = "voices = 'eva'\n[pools.a]\naddress = 'a:1'\nmodels = ['piper_eva']\n[floors.piper_eva]\nacme = 1\n"
    text += "[aliases.voices]\nalloy = 'eva'\n"
    settings = Settings.from_env({**file(text), "QUARTET_MODEL_REPOSITORY": str(tmp_path)})
    assert settings.served.voices == (Voice("eva", "es", "female"),)
    assert settings.served.defaults_by_language == {"es": "eva"}


def test_the_table_of_voices_is_checked_and_leaves_the_choice_of_voices_alone(file: File) -> None:
    given = file("[voices.eva]\nkokoro = 'af_bella'\n")
    assert Settings.from_env(given, added=Added()).voices == "all"
    assert Settings.from_env({**given, "QUARTET_VOICES": "amy"}, added=Added()).voices == "amy"
    with pytest.raises(SettingsError, match="^voices: amy: there is a voice amy already$"):
        Settings.from_env(file("[voices.amy]\nkokoro = 'af_bella'\n"), added=Added())


def test_exported_voices_are_no_setting(file: File) -> None:
    with pytest.raises(SettingsError, match="^added: there is no such setting$"):
        Settings.from_env(file("added = []"))


def test_addresses_separated_by_commas_are_a_pool_of_all_models() -> None:
    (pool,) = Settings.from_env({"QUARTET_TRITON": "a:1, b:2"}).tritons
    assert (pool.name, [str(place) for place in pool.read()], pool.models) == ("triton", ["a:1", "b:2"], ())


def test_floors_have_owners(file: File) -> None:
    text = "[floors.whisper_turbo]\nacme = 2\n'key:4f' = 1\n[floors.m3_embedder]\nacme = 1\n"
    assert Settings.from_env(file(text)).floor_owners == {"org:acme", "key:4f"}


def test_a_variable_overrides_the_file(file: File) -> None:
    assert Settings.from_env({**file("port = 9000"), "QUARTET_PORT": "9001"}).port == 9001


def test_the_limits_are_those_of_the_contract() -> None:
    assert Settings().limits == {
        "chat": 60,
        "responses": 60,
        "transcriptions": 30,
        "speech": 120,
        "embeddings": 120,
        "rerank": 120,
        "mobile_transcribe": 30,
        "mobile_synthesize": 60,
    }


def test_workers_divide_the_shared_settings() -> None:
    shares = Settings(workers=3, audio_workers=4, text_workers=1, held_bytes=3_000_000_000).for_one_worker()
    assert (shares.audio_workers, shares.text_workers, shares.held_bytes) == (2, 1, 1_000_000_000)


_SLOWEST = Settings(
    body_seconds=1.0, request_seconds=20.0, audio_second_seconds=0.5, max_audio_seconds=600, write_seconds=4000.0
)


def test_a_drain_lasts_as_long_as_a_body_a_deadline_and_a_write() -> None:
    assert _SLOWEST.longest_drain_seconds == 1 + 20 + 0.5 * 600 + 4000


def test_a_stop_lasts_as_long_as_its_delay_the_set_drain_and_the_last_charges() -> None:
    assert replace(_SLOWEST, stop_delay_seconds=9.0, drain_seconds=7.0).stop_seconds == 9 + 7 + 15


_EXAMPLES = [
    pytest.param(example, id=f"{page.name}-{number}")
    for page in sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
    for number, example in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S))
]


@pytest.mark.parametrize("example", _EXAMPLES)
def test_the_examples_in_the_docs_are_valid(tmp_path: Path, file: File, example: str) -> None:
    for name in re.findall(r'"/etc/quartet/(.*?)"', example):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("10.0.0.5:8001", encoding="utf-8")
    Settings.from_env(file(example.replace("/etc/quartet", str(tmp_path))))
