"""The catalogue: paths, models, voices, prices and exports."""

from pathlib import Path

import pytest
from aiohttp import web

from frontend.app import create_app
from frontend.app_keys import PATHS
from frontend.catalogue.endpoints import API_KEY, ENDPOINTS, MOBILE_TOKEN
from frontend.catalogue.exports import Export, read_export, read_exports
from frontend.catalogue.models import MODELS, PRICES, Served
from frontend.catalogue.prices import to_chf, to_micro
from frontend.catalogue.voices import exported_voices
from frontend.config.settings import Settings
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from tests.conftest import ROOT


def _app(extensions: str = "") -> web.Application:
    return create_app(Settings(chat_upstream="http://127.0.0.1:1/v1", extensions=extensions, admin_key="a" * 32))


def _working_paths(app: web.Application) -> set[str]:
    """The paths that work for a caller."""
    paths = {route.resource.canonical for route in app.router.routes() if route.method == "POST" and route.resource}
    return {path for path in paths if app[PATHS].auth_of(path) in (API_KEY, MOBILE_TOKEN)}


def test_every_path_that_works_for_a_caller_has_the_rate_limit_of_the_contract() -> None:
    limits = {endpoint.path: endpoint.requests for endpoint in ENDPOINTS}
    assert _working_paths(_app()) == limits.keys()
    assert limits == {
        "/v1/chat/completions": 60,
        "/v1/responses": 60,
        "/v1/audio/transcriptions": 30,
        "/v1/audio/speech": 120,
        "/v1/embeddings": 120,
        "/v1/rerank": 120,
        "/api/v1/audio/transcribe": 30,
        "/api/v1/audio/synthesize": 60,
    }


def test_every_path_of_an_extension_has_a_rate_limit() -> None:
    app = _app(extensions="all")
    paths = _working_paths(app)
    assert {"/v2/rerank", "/rerank"} <= paths
    assert [path for path in paths if app[PATHS].limit_of(path) is None] == []


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
def test_the_authentication_of_a_path_depends_on_its_prefix(path: str, auth: str | None) -> None:
    assert _app()[PATHS].auth_of(path) == auth


def test_a_deployment_serves_everything_but_chat_by_default() -> None:
    assert set(Served.of().ids()) == MODELS.keys() - {"chat"}


def test_named_models_are_served_in_catalogue_order() -> None:
    assert Served.of("embed-m3, stt-1").ids() == ("stt-1", "embed-m3")


def test_the_triton_models_are_those_of_the_models_and_voices_served() -> None:
    assert Served.of("tts-1,tts-1-hd,rerank-v2-m3", "amy,siwis").triton_models == (
        "piper_amy",
        "piper_siwis",
        "m3_reranker",
    )


def test_without_speech_no_voice_is_served() -> None:
    served = Served.of("embed-m3")
    assert (served.triton_models, served.voices) == (("m3_embedder",), ())


def test_an_added_voice_is_served_beside_an_unfinished_one(tmp_path: Path) -> None:
    for name, text in (("piper_eva", "{"), ("piper_ida", '{"added": {"language": "es", "gender": "female"}}')):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "1" / "voice.json").write_text(text, encoding="utf-8")
    assert [voice.name for voice in exported_voices(tmp_path)] == ["ida"]


def test_a_language_has_no_default_voice_that_is_not_served() -> None:
    assert Served.of(voices="amy,riccardo").defaults_by_language == {"en": "amy"}


@pytest.mark.parametrize("names", ["stt-9", "stt-1,", "", "chat"])
def test_a_model_that_there_is_not_cannot_be_served(names: str) -> None:
    with pytest.raises(ValueError, match="there is no '"):
        Served.of(names)


def test_every_model_has_a_price() -> None:
    assert PRICES.keys() == MODELS.keys()


_COSTS = [("stt-1", 60_000, 6_000), ("stt-1-hd", 1_000, 100), ("tts-1", 1, 5), ("tts-1", 1_000_000, 5_000_000)]


@pytest.mark.parametrize(("model", "quantity", "amount"), _COSTS)
def test_work_costs_what_the_contract_says(model: str, quantity: int, amount: int) -> None:
    assert PRICES[model].amount(quantity) == amount


@pytest.mark.parametrize(("milliseconds", "amount"), [(4, 0), (5, 1), (14, 1), (15, 2)])
def test_amounts_are_rounded_half_up(milliseconds: int, amount: int) -> None:
    assert PRICES["stt-1"].amount(milliseconds) == amount


@pytest.mark.parametrize(("micro", "text"), [(0, "0.00"), (325, "0.000325"), (12_500_000, "12.50"), (-1, "-0.000001")])
def test_amounts_are_written_with_two_decimals_or_as_many_as_they_need(micro: int, text: str) -> None:
    assert to_chf(micro) == text


_NO_AMOUNTS = "0.0000001 -1 NaN Infinity five 1e30 1e3 1_0 ١٢ ５ +5 5. .5 1,5 0x10"


@pytest.mark.parametrize("text", [*_NO_AMOUNTS.split(), "", " 5", "5 ", "1\n", "9" * 40])
def test_an_invalid_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CHF"):
        to_micro(text)


def test_an_export_is_read(tmp_path: Path) -> None:
    stamp.write(tmp_path, "m", Stamp(way="fp32", skipped=["int8: error is 0.3", "bf16: error is 0.2"]))
    export = read_export(tmp_path, "m")
    assert export == Export("fp32", ("int8: error is 0.3", "bf16: error is 0.2"))
    assert export.skipped_ways == ("int8", "bf16")


def test_a_model_that_could_not_be_exported_says_why(tmp_path: Path) -> None:
    stamp.write(tmp_path, "m", Stamp(failed="damaged"))
    assert read_export(tmp_path, "m") == Export(failed="damaged")


@pytest.mark.parametrize(
    "written",
    ["", "{", '{"fingerprint": "of an older export"}'],
)
def test_a_repository_without_a_valid_file_has_no_export(tmp_path: Path, written: str) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "exported.json").write_text(written, encoding="utf-8")
    assert read_export(tmp_path, "m") == read_export(tmp_path, "missing") == Export()


def test_the_demos_models_say_how_they_were_exported() -> None:
    found = read_exports(ROOT / "model_repository", ["m3_embedder", "whisper_turbo"])
    assert all(export.way and not export.failed for export in found.values())
