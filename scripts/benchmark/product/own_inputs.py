"""Requests of one's own for a model that no call of the API goes to, in the form of perf_analyzer's ``--input-data``.

    {"data": [{"image": {"content": [0.5, 0.25], "shape": [2]}}, ...]}

A shape has no dimension of a batch.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.benchmark.common.inputs import Call


def own_calls(path: Path, config: Mapping[str, Any]) -> list[Call]:
    """The file's requests to Triton's HTTP address, one after the other; ``config`` is the model's from Triton.

    Ends the program with a sentence for a file of another form.
    """
    kinds = {
        each["name"]: each["data_type"].removeprefix("TYPE_").replace("STRING", "BYTES") for each in config["input"]
    }
    batch = [1] if config.get("max_batch_size") else []

    def tensor(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        shape = [*batch, *value["shape"]]
        return {"name": name, "datatype": kinds[name], "shape": shape, "data": value["content"]}

    try:
        data = json.loads(path.read_text(encoding="utf-8"))["data"]
        bodies = [{"inputs": [tensor(*pair) for pair in request.items()]} for request in data]
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"{path}: has no requests for {config['name']}: {type(error).__name__}: {error}") from None
    if not bodies:
        raise SystemExit(f"{path}: has no requests")
    return [Call(f"/v2/models/{config['name']}/infer", 1, body) for body in bodies]
