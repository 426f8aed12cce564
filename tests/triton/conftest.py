"""The real clients that call the whole product."""

from collections.abc import Iterator

import openai
import pytest

from scripts.stack import Stack


@pytest.fixture(scope="session")
def client(stack: Stack) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{stack.url}/v1", api_key=stack.api_key, max_retries=0) as connected:
        yield connected
