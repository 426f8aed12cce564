"""Requests for Triton's own tools: python -m scripts.benchmark.product.triton_inputs m3_embedder > inputs.json

``perf_analyzer --input-data inputs.json`` sends the requests of ``make bench`` to Triton without the frontend.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from frontend.text.tokens import TextTokenizer, packed_inputs
from scripts.benchmark.common.inputs import calls
from scripts.run.state import REPOSITORY

_REQUESTS = 32


def requests(model: str, repository: Path, count: int) -> list[dict[str, Any]]:
    """``count`` requests of ``m3_embedder`` or ``m3_reranker``, with values and shape of each input."""
    tokenizer = TextTokenizer(repository / model / "1")
    found = []
    for call in calls("embeddings" if model == "m3_embedder" else "rerank", count, seed=1):
        body = call.body or {}
        if model == "m3_embedder":
            ids = tokenizer.texts(body["input"])
        else:
            ids = tokenizer.pairs(body["query"], body["documents"])
        inputs = packed_inputs(ids).items()
        found.append({name: {"content": row[0].tolist(), "shape": [row.shape[1]]} for name, row in inputs})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Requests for perf_analyzer's --input-data.")
    parser.add_argument("model", choices=("m3_embedder", "m3_reranker"))
    parser.add_argument("--repository", type=Path, default=REPOSITORY)
    parser.add_argument("--requests", type=int, default=_REQUESTS)
    arguments = parser.parse_args()
    json.dump({"data": requests(arguments.model, arguments.repository, arguments.requests)}, sys.stdout)


if __name__ == "__main__":
    main()
