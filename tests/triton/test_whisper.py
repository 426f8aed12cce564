"""Whisper in Triton: each request of a batch has its own answer."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from client.recordings import recordings, words
from scripts.run.stack import Stack
from tests.triton.conftest import tensor


def _inputs(audio: Any, language: str) -> list[Any]:
    strings = {"language": language, "prompt": ""}
    return [
        tensor("audio", audio[None]),
        *(tensor(name, np.array([[value.encode()]], np.object_)) for name, value in strings.items()),
        tensor("temperature", np.zeros((1, 1), np.float32)),
    ]


def test_requests_of_one_batch_are_answered_each_for_itself(stack: Stack) -> None:
    people = [recordings("en")[2], recordings("it")[3]]
    silence = np.zeros(0, np.float32)
    asked = [*((each.samples(), each.language) for each in people), (people[0].samples(), "xx"), (silence, "en")]
    with InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as triton:

        def ask(audio: Any, language: str) -> Any:
            return triton.infer("whisper_turbo", _inputs(audio, language), client_timeout=60)

        with ThreadPoolExecutor(len(asked)) as threads:
            first, second, unknown, empty = [threads.submit(ask, *each) for each in asked]
        for person, answer in zip(people, (first, second), strict=True):
            text = b"".join(answer.result().as_numpy("word_text")[0]).decode()
            assert words(text) == words(person.text)
        with pytest.raises(InferenceServerException, match=r"<\|xx\|>"):
            unknown.result()
        assert empty.result().as_numpy("word_text").size == 0
