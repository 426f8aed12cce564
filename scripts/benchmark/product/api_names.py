"""The calls of the API that go to a Triton model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from frontend.catalogue.added_models import added_in
from frontend.catalogue.models import MODELS, SPEECH, Model
from frontend.catalogue.voices import DEFAULTS_BY_LANGUAGE, VOICES, Voice, exported_voices
from scripts.run.state import REPOSITORY


def voices(repository: Path = REPOSITORY) -> Mapping[str, Voice]:
    """A voice of each Triton model that speaks; of Kokoro, an exported one, in English if there is one."""
    exported = sorted(exported_voices(repository), key=lambda voice: voice.language == "en")
    kokoro = replace(VOICES[DEFAULTS_BY_LANGUAGE["en"]], of_kokoro=True)
    return {voice.triton_model: voice for voice in (*VOICES.values(), kokoro, *exported)}


def triton_models(repository: Path = REPOSITORY) -> tuple[str, ...]:
    """The Triton models that the API can call."""
    others = [model.triton_model for model in _models(repository) if model.triton_model]
    return (*others, *voices(repository))


def _models(repository: Path) -> tuple[Model, ...]:
    return (*MODELS.values(), *added_in(repository).models)


def triton_model(name: str, repository: Path = REPOSITORY) -> str:
    """The Triton model of a model that is named as in the API; any other name stays."""
    named = {model.id: model.triton_model for model in _models(repository) if model.triton_model}
    return named.get(name, name)


def operation_of(name: str, repository: Path = REPOSITORY) -> str:
    """The operation of a model of the API, or empty for a name that it has not."""
    return next((model.operation for model in _models(repository) if model.id == name), "")


def api_names(model: str, repository: Path = REPOSITORY) -> tuple[str, str, str]:
    """Operation, model and voice in the API of calls that go to a Triton model."""
    voice = voices(repository).get(model)
    for offered in _models(repository):
        if (voice and offered.operation == SPEECH) or (model and offered.triton_model == model):
            return offered.operation, offered.id, voice.name if voice else ""
    raise ValueError(f"no call of the API goes to {model}")
