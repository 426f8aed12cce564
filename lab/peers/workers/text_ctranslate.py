"""CTranslate2's encoder in process, texts one by one on a thread each: <checkpoint> <compute type> <threads>.

A task is a list of [text] or [query, document].
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ctranslate2
import numpy as np
from line_server import serve
from tokenizers import Tokenizer

checkpoint, compute_type, threads = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
converted = checkpoint.with_name(f"{checkpoint.name}-ctranslate2-{compute_type}")
if not converted.exists():
    converter = ctranslate2.converters.TransformersConverter(str(checkpoint))
    converter.convert(str(converted), quantization=compute_type)
tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
encoder = ctranslate2.Encoder(str(converted), "cpu", compute_type=compute_type, inter_threads=threads, intra_threads=1)


def _one(text: list[str]) -> np.ndarray:
    return np.asarray(encoder.forward_batch([tokenizer.encode(*text).ids]).last_hidden_state)[0, 0]


def work(texts: list[list[str]]) -> np.ndarray:
    with ThreadPoolExecutor(threads) as pool:
        return np.stack(list(pool.map(_one, texts)))


serve(work)
