"""sherpa-onnx in process: <voice> <threads>. A task is a list of texts.

sherpa-onnx reads a Piper voice whose file tells what Piper has in the JSON beside it, its symbols as a list, and the
phonemes that Piper makes of a text.
"""

import json
import sys
from pathlib import Path

import onnx
import sherpa_onnx
from line_server import serve
from piper.phonemize_espeak import EspeakPhonemizer

voice, threads = Path(sys.argv[1]), int(sys.argv[2])
settings = json.loads(voice.with_suffix(".onnx.json").read_text(encoding="utf-8"))
model, tokens = voice.with_name("sherpa.onnx"), voice.with_name("sherpa-tokens.txt")
graph = onnx.load(voice)
told = {
    "model_type": "vits",
    "comment": "piper",
    "language": "English",
    "voice": settings["espeak"]["voice"],
    "has_espeak": "1",
    "n_speakers": "1",
    "sample_rate": str(settings["audio"]["sample_rate"]),
}
onnx.helper.set_model_props(graph, told)
onnx.save(graph, model)
# It knows phonemes of one character alone.
known = {phoneme: ids[0] for phoneme, ids in settings["phoneme_id_map"].items() if len(phoneme) == 1}
tokens.write_text("".join(f"{phoneme} {number}\n" for phoneme, number in known.items()), "utf-8")
scales = {"noise_scale_w" if name == "noise_w" else name: value for name, value in settings["inference"].items()}
vits = sherpa_onnx.OfflineTtsVitsModelConfig(model=str(model), tokens=str(tokens), **scales)
config = sherpa_onnx.OfflineTtsConfig(sherpa_onnx.OfflineTtsModelConfig(vits=vits, num_threads=threads))
speaker, phonemizer = sherpa_onnx.OfflineTts(config), EspeakPhonemizer()


def work(texts: list[str]) -> None:
    for text in texts:
        sentences = phonemizer.phonemize(settings["espeak"]["voice"], text)
        said = sherpa_onnx.GenerationConfig()
        said.phoneme_codepoints = [[ord(symbol) for symbol in "".join(sentence)] for sentence in sentences]
        if not len(speaker.generate(text, said).samples):
            raise RuntimeError("sherpa-onnx said nothing")


serve(work)
