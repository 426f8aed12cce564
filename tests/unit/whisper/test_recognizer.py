import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import ctranslate2
import numpy as np
import openvino as ov
import pytest
from openvino import opset15 as op

from scripts.export_models.whisper import checks, export
from tests.processors import exact_int8
from tests.speech import say
from tests.unit.whisper.conftest import CHECKPOINT

SENTENCE = "The meeting was moved from Monday to Friday."


def test_encoder_outputs_and_greedy_tokens_are_those_of_transformers(module: ModuleType, converted: Path) -> None:
    encoded, tokens = checks.compare(CHECKPOINT, converted, "demo", "float32", spoken=2)
    assert (encoded.passed, tokens.passed) == (True, True)


@pytest.mark.parametrize("asked", [{}, {"language": "en", "temperature": 0.2}], ids=["searched", "sampled"])
def test_a_window_is_transcribed_without_words(module: ModuleType, recognizer: Any, asked: dict[str, Any]) -> None:
    (result,) = recognizer.transcribe([module.Window(say(SENTENCE), **asked)])
    assert "".join(s.text for s in result.segments).strip() == SENTENCE
    assert result.words == []


@pytest.mark.parametrize(
    ("language", "voice", "text"),
    [
        ("en", "en-us", SENTENCE),
        ("de", "de", "Kannst du heute Brot kaufen?"),
        ("fr", "fr", "Je vais préparer le dîner ce soir."),
        ("it", "it", "Puoi comprare il pane domani mattina?"),
    ],
)
def test_the_language_is_detected(module: ModuleType, recognizer: Any, language: str, voice: str, text: str) -> None:
    (result,) = recognizer.transcribe([module.Window(say(text, voice))])
    assert result.language == language


def test_a_window_has_the_same_text_in_a_batch(module: ModuleType, recognizer: Any) -> None:
    texts = [SENTENCE, "I will cook dinner tonight.", "We need five apples and ten eggs."]
    windows = [module.Window(say(text)) for text in texts]
    together = [[s.text for s in result.segments] for result in recognizer.transcribe(windows)]
    alone = [[s.text for s in recognizer.transcribe([window])[0].segments] for window in windows]
    assert together == alone


def test_prompts_of_different_lengths_travel_together(module: ModuleType, prompted: Any) -> None:
    audio = say(SENTENCE)
    prompts = ["", "Hello Anna, how are you.", "The weather in Rome is sunny on Sunday."]
    results = prompted.transcribe([module.Window(audio, language="en", prompt=p) for p in prompts])
    assert all("Monday" in result.segments[0].text for result in results)


@pytest.mark.parametrize("prompt", ["Hello Anna, how are you.", "Glossary: ACME Corp., HbA1c.", "so, " * 256])
def test_a_checkpoint_that_hears_worse_behind_a_prompt_is_given_none(
    module: ModuleType, recognizer: Any, prompt: str
) -> None:
    audio = say(SENTENCE)
    (with_prompt,) = recognizer.transcribe([module.Window(audio, prompt=prompt)])
    (without,) = recognizer.transcribe([module.Window(audio)])
    assert (with_prompt.tokens, with_prompt.avg_logprob) == (without.tokens, without.avg_logprob)


def test_words_follow_each_other_inside_of_the_window(module: ModuleType, recognizer: Any) -> None:
    audio = say(SENTENCE)
    (result,) = recognizer.transcribe([module.Window(audio, language="en", word_timestamps=True)])
    assert [word.text for word in result.words] == [f" {word}" for word in SENTENCE.split()]
    clocks = [time for word in result.words for time in (word.start, word.end)]
    assert clocks == sorted(clocks)
    assert clocks[-1] <= len(audio) / 16_000


@pytest.mark.parametrize("temperature", [5e-324, 1e-45, 1e-38, 1e-4])
def test_a_temperature_too_low_to_sample_at_is_greedy(module: ModuleType, recognizer: Any, temperature: float) -> None:
    audio = say(SENTENCE)
    (low,) = recognizer.transcribe([module.Window(audio, language="en", temperature=temperature)])
    (greedy,) = recognizer.transcribe([module.Window(audio, language="en")])
    assert (low.tokens, low.avg_logprob) == (greedy.tokens, greedy.avg_logprob)


@pytest.mark.parametrize("samples", [0, 8 * 16_000 + 1])
def test_a_window_of_a_wrong_length_is_refused(module: ModuleType, recognizer: Any, samples: int) -> None:
    with pytest.raises(module.InvalidWindowError):
        recognizer.transcribe([module.Window(np.zeros(samples, np.float32))])


def test_an_unknown_language_is_refused(module: ModuleType, recognizer: Any) -> None:
    with pytest.raises(module.InvalidWindowError, match="xx"):
        recognizer.transcribe([module.Window(say(SENTENCE), language="xx")])


@pytest.mark.parametrize("graphs", [pytest.param(False, marks=exact_int8), True])
def test_int8_weights_hear_the_same_words(module: ModuleType, tmp_path: Path, graphs: bool) -> None:
    export.convert(CHECKPOINT, tmp_path / "int8", "int8", graphs=graphs)
    encoded, tokens = checks.compare(CHECKPOINT, tmp_path / "int8", "demo", "int8", spoken=2)
    assert (encoded.passed, tokens.passed) == (True, True)


def test_an_encoder_that_is_not_the_checkpoint_s_fails_its_export(module: ModuleType, tmp_path: Path) -> None:
    export.convert(CHECKPOINT, tmp_path / "int8", "int8", graphs=True)
    graph = ov.Core().read_model(tmp_path / "int8" / "encoder.xml")
    before = graph.output(0).get_node().input_value(0)
    graph.output(0).get_node().input(0).replace_source_output(op.multiply(before, np.float32(1.5)).output(0))
    ov.save_model(graph, tmp_path / "changed.xml", compress_to_fp16=False)
    for suffix in (".xml", ".bin"):
        (tmp_path / f"changed{suffix}").replace(tmp_path / "int8" / f"encoder{suffix}")
    encoded, _ = checks.compare(CHECKPOINT, tmp_path / "int8", "demo", "int8", spoken=2)
    assert not encoded.passed


def test_what_was_exported_for_a_processor_is_refused_on_a_gpu(
    module: ModuleType, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CTranslate", lambda *_, **__: None)
    with pytest.raises(ValueError, match="--whisper-compute-type float16"):
        module.Recognizer(exported, device="cuda")


def test_an_export_whose_graphs_are_missing_is_not_heard_by_what_is_left_of_it(
    module: ModuleType, exported: Path, tmp_path: Path
) -> None:
    shutil.copytree(exported, tmp_path / "int8")
    (tmp_path / "int8" / "encoder.xml").unlink()
    with pytest.raises(RuntimeError, match=r"encoder\.xml"):
        module.Recognizer(tmp_path / "int8")


def test_graphs_are_taken_where_the_export_wrote_them(module: ModuleType, exported: Path) -> None:
    assert isinstance(module.Recognizer(exported)._encoder, module.GraphEncoder)


def test_windows_are_heard_by_a_graph_of_their_length_where_all_have_one(
    module: ModuleType, exported_for_one_length: Path
) -> None:
    recognizer = module.Recognizer(exported_for_one_length)
    (result,) = recognizer.transcribe([module.Window(say(SENTENCE), language="en")])
    assert recognizer._encoder._graph.input().partial_shape.is_static
    assert "".join(segment.text for segment in result.segments).strip() == SENTENCE


def test_a_checkpoint_without_graphs_is_encoded_by_ctranslate2(recognizer: Any) -> None:
    features = np.random.default_rng(0).normal(size=(2, 80, 200)).astype(np.float32)
    assert [encoded.output.shape for encoded in recognizer._encoder.encode(features)] == [(1, 100, 128)] * 2


def test_what_ctranslate2_has_decodes_wholly_without_the_encoder(exported: Path, converted: Path) -> None:
    encoded = np.random.default_rng(0).normal(size=(1, 50, 128)).astype(np.float32)
    start = [["<|startoftranscript|>", "<|en|>", "<|transcribe|>"]]
    tokens = [
        ctranslate2.models.Whisper(str(folder), device="cpu")
        .generate(ctranslate2.StorageView.from_array(encoded), start, max_length=20)[0]
        .sequences_ids
        for folder in (exported, converted)
    ]
    assert tokens[0] == tokens[1]
