"""Look-alikes of the real text checkpoints, small and random, and their answers."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from transformers import XLMRobertaConfig, XLMRobertaModel

from scripts.export_models.precisions import Precision
from scripts.export_models.text import session, write
from scripts.export_models.text_checks import Run

SIZES = {
    "vocab_size": 300,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
LENGTHS = (1, 2, 3, 17, 64, 257, 1000, 8192)


def texts(lengths: tuple[int, ...] = LENGTHS) -> list[NDArray[np.int32]]:
    rng = np.random.default_rng(7)
    return [rng.integers(5, 300, length).astype(np.int32) for length in lengths]


def xlmr() -> Any:
    torch.manual_seed(0)
    return XLMRobertaModel(XLMRobertaConfig(**SIZES, max_position_embeddings=8194, type_vocab_size=1)).eval()


def load(model: onnx.ModelProto, folder: Path, precision: Precision = "fp32") -> Run:
    write(model, precision, folder)
    return session(folder)


def first_token(model: Any, text: NDArray[np.int32]) -> NDArray[np.float32]:
    with torch.inference_mode():
        hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0, 0]
    vector: NDArray[np.float32] = torch.nn.functional.normalize(hidden, dim=0).numpy()
    return vector
