"""Calls every operation with the client that openapi-python-client has made of /openapi.json, as ``quartet_client``."""

import importlib
import io
import json
import os
import pkgutil
import sys
from pathlib import Path
from typing import Any

import quartet_client.api
from quartet_client import AuthenticatedClient, models, types

RECORDING = Path(sys.argv[1]).read_bytes()


def _file() -> types.File:
    return types.File(payload=io.BytesIO(RECORDING), file_name="a.wav")


CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "create_transcription": {
        "body": models.CreateTranscriptionBody(
            file=_file(),
            response_format=models.CreateTranscriptionBodyResponseFormat.VERBOSE_JSON,
            timestamp_granularities=[models.CreateTranscriptionBodyTimestampGranularitiesItem.WORD],
        )
    },
    "create_speech": {"body": models.CreateSpeechBody(input_="Hello.", voice=models.CreateSpeechBodyVoice.AMY)},
    "create_embedding": {"body": models.CreateEmbeddingBody(input_=["a", "b"], dimensions=1024)},
    "create_rerank": {"body": models.CreateRerankBody(query="a", documents=["a", "b"], top_n=1, return_documents=True)},
    "create_chat_completion": {"body": models.CreateChatCompletionBody.from_dict(CHAT)},
    "create_response": {"body": models.CreateResponseBody.from_dict({"model": "m", "input": "hi"})},
    "list_models": {},
    "retrieve_model": {"name": "stt-1"},
    "transcribe": {"body": models.TranscribeBody(audio=_file(), with_segments=True)},
    "synthesize": {"body": models.SynthesizeBody(text="Hello.", voice=models.SynthesizeBodyVoice.AMY)},
    "list_voices": {},
}


def _calls() -> tuple[dict[str, list[Any]], list[Any]]:
    """The status of each answer and what the client has made of it, by the module of the operation; and the fields of
    the transcript.
    """
    found: dict[str, list[Any]] = {}
    for part, token in (("developer", os.environ["QUARTET_API_KEY"]), ("mobile", os.environ["QUARTET_TOKEN"])):
        client = AuthenticatedClient(base_url=os.environ["QUARTET_URL"], token=token, timeout=60)
        package = importlib.import_module(f"{quartet_client.api.__name__}.{part}")
        for _, name, _ in pkgutil.iter_modules(package.__path__):
            operation = importlib.import_module(f"{package.__name__}.{name}")
            answer = operation.sync_detailed(client=client, **ARGUMENTS[name])
            found[name] = [answer.status_code.value, type(answer.parsed).__name__]
            if name == "create_transcription":
                heard = answer.parsed
    return found, [heard.text, heard.language, len(heard.segments), [word.word for word in heard.words]]


print(json.dumps(_calls()))
