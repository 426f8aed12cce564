from pathlib import Path

import pytest

from frontend.config.settings import Settings, names_set
from frontend.config.tables import SettingsError


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
        ("QUARTET_REDIS", "localhost:6379"),
        ("QUARTET_CHAT_UPSTREAM", "localhost:8000"),
        ("QUARTET_REDIS_OUTAGE", "panic"),
        ("QUARTET_LIMITS", "embeddings=5"),
        ("QUARTET_MODELS", "stt-1,whisper"),
        ("QUARTET_VOICES", "alloy"),
    ],
)
def test_a_bad_setting_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_env({name: value})


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(Settings(jwt_secret="hidden", database="hidden", redis="hidden"))


def _file(folder: Path, text: str) -> dict[str, str]:
    path = folder / "quartet.toml"
    path.write_text(text, encoding="utf-8")
    return {"QUARTET_CONFIG": str(path)}


def test_a_file_gives_settings_limits_and_the_limits_of_tiers(tmp_path: Path) -> None:
    text = "port = 9000\n[limits]\nembeddings = 7\n[tiers.pro]\nembeddings = 70\n"
    settings = Settings.from_env(_file(tmp_path, text))
    assert settings.port == 9000
    assert (settings.limits["embeddings"], settings.limits["speech"]) == (7, 120)
    assert settings.tiers == {"pro": {"embeddings": 70}}


def test_a_file_gives_backends_with_their_models_and_slots(tmp_path: Path) -> None:
    text = """
[backends.gpu]
address = "gpu:8001"
models = ["whisper_turbo", "m3_embedder"]
concurrency = { whisper_turbo = 32 }
[backends.cpu]
address = "cpu:8001"
"""
    gpu, cpu = Settings.from_env(_file(tmp_path, text)).tritons
    models = ("whisper_turbo", "m3_embedder", "piper_amy")
    assert (gpu.name, gpu.address) == ("gpu", "gpu:8001")
    assert gpu.slots(models, 0) == {"whisper_turbo": 32, "m3_embedder": 0}
    assert cpu.slots(models, 4) == {"whisper_turbo": 4, "m3_embedder": 4, "piper_amy": 4}


def test_addresses_with_commas_between_are_backends_of_every_model() -> None:
    settings = Settings.from_env({"QUARTET_TRITON": "a:1, b:2"})
    assert [(triton.name, triton.models) for triton in settings.tritons] == [("a:1", ()), ("b:2", ())]


def test_a_file_gives_floors_by_model_and_owner(tmp_path: Path) -> None:
    text = "[floors.whisper_turbo]\nacme = 2\n'org:key:b' = 3\n'key:4f' = 1\n"
    settings = Settings.from_env(_file(tmp_path, text))
    assert settings.floors == {"whisper_turbo": {"org:acme": 2, "org:key:b": 3, "key:4f": 1}}
    assert settings.floor_owners == {"org:acme", "org:key:b", "key:4f"}


def test_a_variable_goes_before_the_file(tmp_path: Path) -> None:
    assert Settings.from_env({**_file(tmp_path, "port = 9000"), "QUARTET_PORT": "9001"}).port == 9001


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("prot = 1", "prot"),
        ("port = [1]", "port"),
        ("port = ", "quartet.toml"),
        ("limits = 1", "limits"),
        ("[limits]\nembedding = 1", "limits.embedding"),
        ("[limits]\nembeddings = 0", "limits.embeddings"),
        ("[limits]\nembeddings = true", "limits.embeddings"),
        ("[tiers.gold]\nembeddings = 1", "tiers.gold"),
        ("redis_outage = 'panic'", "redis_outage"),
        ("backends = 1", "backends"),
        ("[backends.a]\nadress = 'x:1'", "backends.a.adress"),
        ("[backends.a]\naddress = 'x'", "backends.a.address"),
        ("[backends.a]\naddress = 'x:1'\nmodels = 'm'", "backends.a.models"),
        ("[backends.a]\naddress = 'x:1'\nconcurrency.m = 0", "backends.a.concurrency.m"),
        ("[floors.m3_embedder]\nacme = 'two'", "floors.m3_embedder.acme"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_env(_file(tmp_path, text))


def test_a_file_that_is_missing_is_refused() -> None:
    with pytest.raises(SettingsError, match="QUARTET_CONFIG"):
        Settings.from_env({"QUARTET_CONFIG": "/nowhere/quartet.toml"})


def test_what_the_demo_environment_holds_for_clients_is_no_setting() -> None:
    names = ("URL", "API_KEY", "MOBILE_JWT", "TRITON_HTTP", "TRITON_METRICS")
    assert Settings.from_env({f"QUARTET_{name}": "x" for name in names}) == Settings()


def test_what_was_said_is_known_by_its_names(tmp_path: Path) -> None:
    said = names_set({**_file(tmp_path, "threads = 3\n"), "QUARTET_PORT": "1", "HOME": "/"})
    assert {"threads", "port"} <= said
    assert "text_workers" not in said


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


def test_several_workers_need_a_redis_to_share_limits() -> None:
    with pytest.raises(SettingsError, match="QUARTET_WORKERS"):
        Settings.from_env({"QUARTET_WORKERS": "2"})


def test_workers_divide_what_is_set_for_the_whole() -> None:
    shares = Settings(workers=3, audio_workers=4, text_workers=1, held_bytes=3_000_000_000).for_one_worker()
    assert (shares.audio_workers, shares.text_workers, shares.held_bytes) == (2, 1, 1_000_000_000)


def test_a_file_gives_prices_in_chf(tmp_path: Path) -> None:
    text = "[prices.embed-m3]\nmillion_tokens = 0.02\n[prices.stt-1]\nminute = '0.012'\n"
    prices = Settings.from_env(_file(tmp_path, text)).prices
    assert (prices["embed-m3"].micro_chf, prices["stt-1"].micro_chf, prices["stt-1-hd"].micro_chf) == (
        20_000,
        12_000,
        6_000,
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[prices.gpt-4]\nminute = 1", "prices.gpt-4"),
        ("[prices.stt-1]\nhour = 1", "prices.stt-1"),
        ("[prices.stt-1]\nminute = -1", "prices.stt-1.minute"),
        ("[prices.stt-1]\nminute = 0.0000001", "prices.stt-1.minute"),
        ("[prices.stt-1]\nminute = 'free'", "prices.stt-1.minute"),
        ("prices = 1", "prices"),
    ],
)
def test_a_bad_price_is_refused_by_name(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(SettingsError, match=f"^{place}:"):
        Settings.from_env(_file(tmp_path, text))
