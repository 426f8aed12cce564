"""What Triton reads for each model: the operator's file, and numbers of this machine where that file leaves them open.

A file leaves threads open by ``intra_threads`` of ``auto``, and instances by an ``instance_group`` without ``count``.
Every other number is the operator's and stays. Triton takes the written file by ``--model-config-name``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig, ModelInstanceGroup

AUTO = "auto"
_THREADS = "intra_threads"
_HEAD = "# Written at each start from {source}, which is the file to change.\n"
_KINDS = {ModelInstanceGroup.KIND_GPU: "GPU", ModelInstanceGroup.KIND_CPU: "CPU"}


class ConfigError(ValueError):
    """A file that is no configuration of Triton. The message names the place."""


@dataclass(frozen=True)
class Numbers:
    """The threads of a run of a model and its instances on this machine, None if nothing is known of the model."""

    threads: int | None = None
    instances: int | None = None


@dataclass(frozen=True)
class ServedConfig:
    """A model's configuration with this machine's numbers, and the names of what was left open."""

    model: str
    config: Any
    source: Path
    filled: frozenset[str]

    @classmethod
    def of(cls, model: str, source: Path, numbers_of: Callable[[str, bool], Numbers]) -> "ServedConfig":
        """Read a model's file, and fill in its numbers, by its name and whether it is on a GPU.

        Raises ``ConfigError``.
        """
        config = parsed(source)
        filled = set()
        on_gpu = any(group.kind == ModelInstanceGroup.KIND_GPU for group in config.instance_group)
        numbers = numbers_of(model, on_gpu)
        # A look at a missing parameter would add it.
        if numbers.threads and _THREADS in config.parameters and config.parameters[_THREADS].string_value == AUTO:
            config.parameters[_THREADS].string_value = str(numbers.threads)
            filled.add("threads")
        for group in config.instance_group:
            if numbers.instances and not group.count:
                group.count = numbers.instances
                filled.add("instances")
        return cls(model, config, source, frozenset(filled))

    @property
    def text(self) -> str:
        """The file for Triton."""
        return f"{_HEAD.format(source=self.source.name)}{text_format.MessageToString(self.config)}"

    def __str__(self) -> str:
        """One line: what is served, on what, and with which numbers; those of this machine are marked."""
        return f"{self.model:<18} {', '.join(self._facts())}"

    def _facts(self) -> Iterator[str]:
        config = self.config
        kinds = sorted({_KINDS.get(group.kind, "CPU") for group in config.instance_group}) or ["CPU"]
        yield f"{config.backend} on {' and '.join(kinds)}"
        keys = (_THREADS, "intra_op_thread_count")
        for threads in (config.parameters[key].string_value for key in keys if key in config.parameters):
            yield f"threads {threads}{self._origin('threads')}"
        yield f"instances {sum(max(1, group.count) for group in config.instance_group) or 1}{self._origin('instances')}"
        if config.max_batch_size:
            yield f"batch {config.max_batch_size}"
        if config.HasField("dynamic_batching"):
            yield f"delay {config.dynamic_batching.max_queue_delay_microseconds} µs"
        yield f"from {self.source.name}"

    def _origin(self, name: str) -> str:
        return " (this machine)" if name in self.filled else ""


def parsed(path: Path) -> Any:
    """The configuration in a file. Raises ``ConfigError``."""
    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
    except (text_format.ParseError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: {error}") from None


def with_tensors(own: Path, generated: str) -> str:
    """An operator's file with the inputs and outputs of a generated one, which is taken whole if there is no other."""
    try:
        config = parsed(own)
    except (ConfigError, OSError):
        return generated
    tensors = text_format.Parse(generated, ModelConfig())
    if (config.input, config.output) == (tensors.input, tensors.output):
        return own.read_text(encoding="utf-8")
    for name in ("input", "output"):
        config.ClearField(name)
        getattr(config, name).extend(getattr(tensors, name))
    return str(text_format.MessageToString(config))
