"""Requests for Triton's own tools: python -m scripts.benchmark.product.triton_inputs m3_embedder > inputs.json

``perf_analyzer --input-data inputs.json`` sends the requests of ``make bench`` to Triton without the frontend.
"""

import argparse
import io
import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from frontend.catalogue.exports import is_exported
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH
from frontend.operations.speech.voices import ExportedVoice, load
from frontend.operations.transcription.pipeline import model_inputs
from frontend.rings import reader
from frontend.text.phonemes import phonemize
from frontend.text.tokens import TextTokenizer, packed_inputs
from scripts.benchmark.common.inputs import Call, calls
from scripts.benchmark.product.api_names import api_names, triton_models, voices
from scripts.run.model_configs import parsed
from scripts.run.state import REPOSITORY

_REQUESTS = 32
Inputs = Mapping[str, NDArray[Any]]


def requests(model: str, repository: Path, count: int) -> list[dict[str, Any]]:
    """``count`` requests of a model, with values and shape of each input; the dimension of a batch is left out."""
    is_batched = bool(parsed(repository / model / "config.pbtxt").max_batch_size)
    several = itertools.islice(_inputs(model, repository, count), count)
    return [{name: _value(array[0] if is_batched else array) for name, array in one.items()} for one in several]


def _value(array: NDArray[Any]) -> dict[str, Any]:
    content = [each.decode() if isinstance(each, bytes) else each for each in array.ravel().tolist()]
    return {"content": content, "shape": list(array.shape)}


def _inputs(model: str, repository: Path, count: int) -> Iterator[Inputs]:
    """At least ``count`` requests, as the frontend sends them."""
    operation = api_names(model, repository)[0]
    several = calls(operation, count, seed=1)
    if operation == SPEECH:
        return _spoken(load(voices(repository)[model], repository), several)
    if operation in (EMBEDDINGS, RERANK):
        return _packed(several, TextTokenizer(repository / model / "1"))
    return (model_inputs(_samples(call), "", "") for call in several)


def _packed(several: list[Call], tokenizer: TextTokenizer) -> Iterator[Inputs]:
    for call in several:
        body = call.body or {}
        documents = body.get("documents")
        yield packed_inputs(tokenizer.pairs(body["query"], documents) if documents else tokenizer.texts(body["input"]))


def _spoken(voice: ExportedVoice, several: list[Call]) -> Iterator[Inputs]:
    for call in several:
        for utterance in phonemize((call.body or {})["input"], voice.alphabet, reader().split):
            yield voice.inputs(utterance.ids, 1.0)


def _samples(call: Call) -> bytes:
    """The samples of a clip, int16 at 16 kHz."""
    return soundfile.read(io.BytesIO(call.file or b""), dtype=np.int16)[0].tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description="Requests for perf_analyzer's --input-data.")
    parser.add_argument("model", choices=triton_models())
    parser.add_argument("--repository", type=Path, default=REPOSITORY)
    parser.add_argument("--requests", type=int, default=_REQUESTS)
    arguments = parser.parse_args()
    if not is_exported(arguments.repository, arguments.model):
        parser.error(f"{arguments.model} is not exported in {arguments.repository}")
    json.dump({"data": requests(arguments.model, arguments.repository, arguments.requests)}, sys.stdout)


if __name__ == "__main__":
    main()
