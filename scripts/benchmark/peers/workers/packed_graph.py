"""Our own graph without queue, HTTP or Triton: <its folder> <texts a run>.

A task is a list of texts or of pairs.
"""

import sys
from pathlib import Path

import numpy as np
from line_server import serve
from tokenizers import Tokenizer

from scripts.export_models.text.model_folder import session

folder, batch = Path(sys.argv[1]), int(sys.argv[2])
tokenizer, run = Tokenizer.from_file(str(folder / "tokenizer.json")), session(folder)


def work(texts: list[str | list[str]]) -> np.ndarray:
    encodings = tokenizer.encode_batch_fast([text if isinstance(text, str) else tuple(text) for text in texts])
    ids = [np.array(encoding.ids, np.int32) for encoding in encodings]
    return np.concatenate([run(ids[start : start + batch]) for start in range(0, len(ids), batch)])


serve(work)
