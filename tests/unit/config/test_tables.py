"""The tables of the settings file."""

from pathlib import Path

import pytest

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.models import EMBEDDINGS, PRICES, Added, Model
from frontend.config.pools import PoolSetting, Tls, TritonAddress
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from tests.unit.config.conftest import File


def test_pools_have_models_and_calls_in_flight(file: File) -> None:
    text = """
[pools.gpu]
address = "gpu:8001"
models = ["whisper_turbo", "m3_embedder"]
concurrency = { whisper_turbo = 32 }
[pools.cpu]
address = ["10.0.0.1:8001", "10.0.0.2:8001 b", "[fd00::1]:8001"]
zone = "a"
"""
    gpu, cpu = Settings.from_env(file(text)).pools
    models = ("whisper_turbo", "m3_embedder", "piper_amy")
    assert (gpu.name, gpu.read()) == ("gpu", [TritonAddress("gpu", 8001)])
    assert gpu.slots(models, 0) == {"whisper_turbo": 32, "m3_embedder": 0}
    assert cpu.slots(models, 4) == {"whisper_turbo": 4, "m3_embedder": 4, "piper_amy": 4}
    assert [(str(place), place.zone) for place in cpu.read()] == [
        ("10.0.0.1:8001", "a"),
        ("10.0.0.2:8001", "b"),
        ("[fd00::1]:8001", "a"),
    ]


@pytest.mark.parametrize("start", ["# by hand\n", "\ufeff"])
def test_a_file_can_list_the_addresses_of_a_pool(tmp_path: Path, file: File, start: str) -> None:
    addresses = tmp_path / "text.pool"
    addresses.write_text(f"{start}10.0.0.1:8001\n\n10.0.0.2:8001 b # another zone\n", encoding="utf-8")
    (pool,) = Settings.from_env(file(f"[pools.text]\nfile = '{addresses}'")).pools
    assert pool.read() == [TritonAddress("10.0.0.1", 8001), TritonAddress("10.0.0.2", 8001, "b")]


def test_a_certificate_must_have_the_host_or_the_server_name(file: File) -> None:
    text = "[pools.a]\naddress = 'a:1'\nca = 'ca'\n[pools.b]\naddress = 'b:1'\nca = 'ca'\nserver_name = 'c'"
    one, other = Settings.from_env(file(text)).pools
    assert one.tls("a") == Tls(Path("ca"), None, None, "a")
    assert other.tls("b") == Tls(Path("ca"), None, None, "c")
    assert PoolSetting("a", ("a:1",)).tls("a") is None


def test_floors_have_a_model_and_an_owner(file: File) -> None:
    text = "[floors.whisper_turbo]\nacme = 2\n'org:key:b' = 3\n'key:4f' = 1\n"
    assert Settings.from_env(file(text)).floors == {"whisper_turbo": {"org:acme": 2, "org:key:b": 3, "key:4f": 1}}


def test_prices_are_in_chf(file: File) -> None:
    text = "[prices.embed-m3]\nmillion_tokens = 0.02\n[prices.stt-1]\nminute = '0.012'\n"
    prices = Settings.from_env(file(text)).prices
    assert [prices[model].micro_chf for model in ("embed-m3", "stt-1", "stt-1-hd")] == [20_000, 12_000, 6_000]


E5 = Model("e5", EMBEDDINGS, 7, "added_e5", max_tokens=512, width=384)
ADDED = Added(models=(E5,))
OF_E5 = "[models.e5]\noperation = 'embeddings'\ncheckpoint = './e5'\nprice = 0.5\n"
NAMING_E5 = """
[prices.e5]
million_tokens = 0.3
[floors.added_e5]
acme = 1
[pools.text]
address = "text:8001"
models = ["added_e5"]
[aliases.models]
ada = "e5"
"""


def test_an_added_model_has_a_price_of_its_own_unless_the_table_of_prices_has_one(file: File) -> None:
    assert Settings.from_env(file(OF_E5), ADDED).prices["e5"] == E5.price
    prices = Settings.from_env(file(OF_E5 + NAMING_E5), ADDED).prices
    assert (prices["e5"].micro_chf, prices["embed-m3"]) == (300_000, PRICES["embed-m3"])


def test_tables_may_name_a_model_that_could_not_be_exported_which_is_not_served(file: File) -> None:
    environ = {**file(OF_E5 + NAMING_E5), "QUARTET_MODELS": "stt-1,e5"}
    settings = Settings.from_env(environ, Added())
    assert settings.served.ids() == ("stt-1",)
    assert list(settings.served.model_names()) == ["stt-1"]
    assert settings.floors == {"added_e5": {"org:acme": 1}}
    assert list(Settings.from_env(environ, ADDED).served.model_names()) == ["stt-1", "e5", "ada"]


def test_tables_may_not_name_a_model_that_nobody_adds(file: File) -> None:
    with pytest.raises(SettingsError, match="there is no model 'e5'"):
        Settings.from_env(file(NAMING_E5), Added())
    with pytest.raises(SettingsError, match="QUARTET_MODELS: there is no 'e5'"):
        Settings.from_env({**file(""), "QUARTET_MODELS": "stt-1,e5"}, Added())


def test_an_alias_may_mean_an_added_model_and_not_take_its_name(file: File) -> None:
    assert Settings.from_env(file("[aliases.models]\nada = 'e5'"), ADDED).aliases.models == {"ada": "e5"}
    with pytest.raises(SettingsError, match=r"^aliases\.models\.e5: is a name already"):
        Settings.from_env(file("[aliases.models]\ne5 = 'embed-m3'"), ADDED)


def test_aliases_are_read(file: File) -> None:
    text = """
[aliases]
ignore = ["user", "stream"]
speech_format = "mp3"
[aliases.models]
whisper-1 = "stt-1"
[aliases.voices]
alloy = "amy"
"""
    expected = Aliases({"whisper-1": "stt-1"}, {"alloy": "amy"}, ("user", "stream"), "mp3")
    assert Settings.from_env(file(text)).aliases == expected
    assert not Settings.from_env(file("")).aliases


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("prot = 1", "prot:"),
        ("port = [1]", "port:"),
        ("port = ", "QUARTET_CONFIG: .*quartet.toml"),
        ("redis_outage = 'panic'", "redis_outage:"),
        ("limits = 1", "limits:"),
        ("[limits]\nembedding = 1", "limits.embedding:"),
        ("[limits]\nembeddings = 0", "limits.embeddings:"),
        ("[limits]\nembeddings = true", "limits.embeddings:"),
        ("[tiers.gold]\nembeddings = 1", "tiers.gold:"),
        ("pools = 1", "pools:"),
        ("[pools.a]\nadress = 'x:1'", "pools.a.adress:"),
        ("[pools.a]\naddress = 'x'", "pools.a: 'x' is not host:port"),
        ("[pools.a]\naddress = 'x:99999'", "pools.a: 'x:99999' is not host:port"),
        ("[pools.a]\naddress = ['x:1', 'y:1 a b']", "pools.a: 'y:1 a b' is not host:port"),
        ("[pools.a]\nmodels = ['m']", "pools.a.models.0: there is no model 'm'"),
        ("[pools.a]\nmodels = ['m3_embedder']", "pools.a: must have an address or a file"),
        ("[pools.a]\naddress = 'x:1'\nfile = 'y'", "pools.a: must have an address or a file"),
        ("[pools.a]\nfile = '/nowhere'", "pools.a: .*'/nowhere'"),
        ("[pools.a]\naddress = 'x:1'\nname = 'b'", "pools.a.name:"),
        ("[pools.a]\naddress = 'x:1'\nzone = 1", "pools.a.zone:"),
        ("[pools.a]\naddress = 'x:1'\nca = 'c'\nkey = 'k'", "pools.a: key needs certificate"),
        ("[pools.a]\naddress = 'x:1'\ncertificate = 'c'\nkey = 'k'", "pools.a: certificate needs ca"),
        ("[pools.a]\naddress = 'x:1'\nserver_name = 'c'", "pools.a: server_name needs ca"),
        ("[pools.a]\naddress = 'x:1'\nmodels = 'm'", "pools.a.models:"),
        ("[pools.a]\naddress = 'x:1'\nconcurrency.m = 0", "pools.a.concurrency.m:"),
        (
            "[pools.a]\naddress = 'a:1'\nconcurrency.m3 = 2",
            "pools.a.concurrency.m3: there is no model 'm3'; there are whis",
        ),
        (
            "[floors.whisper_large]\nacme = 1",
            "floors.whisper_large: there is no model 'whisper_large'; there are whisper_",
        ),
        ("[floors.m3_embedder]\nacme = 'two'", "floors.m3_embedder.acme:"),
        ("[prices.gpt-4]\nminute = 1", "prices: there is no model 'gpt-4'"),
        ("[prices.stt-1]\nhour = 1", "prices: stt-1 must have minute, and nothing else"),
        ("[prices.stt-1]\nminute = -1", "prices.stt-1.minute:"),
        ("[prices.stt-1]\nminute = 0.0000001", "prices.stt-1.minute:"),
        ("[prices.stt-1]\nminute = 'free'", "prices.stt-1.minute:"),
        ("prices = 1", "prices:"),
        ("aliases = 1", "aliases:"),
        ("[aliases]\nmodel = 1", "aliases.model:"),
        ("[aliases.models]\nwhisper-1 = 1", "aliases.models.whisper-1:"),
        ("[aliases]\nignore = 'user'", "aliases.ignore:"),
        ("[aliases]\nspeech_format = 'opus'", "aliases.speech_format:"),
    ],
)
def test_an_invalid_value_or_table_is_refused_by_name(file: File, text: str, start: str) -> None:
    with pytest.raises(SettingsError, match=f"^{start}"):
        Settings.from_env(file(text))
