"""Writes measured settings into the file of a model that its operator edits."""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig, ModelInstanceGroup

from scripts.benchmark.product.model_control import THREADS, Knobs
from scripts.run.model_configs import AUTO, ConfigError, parsed

# A string, or a comment; and an instance_group whose comments are taken out to their "#".
_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|#[^\r\n]*""")
_GROUPS = re.compile(r"instance_group[\s:#]*(?:\[(?:[\s,#]*\{[^{}]*\})+[\s,#]*\]|\{[^{}]*\})")
_GROUP = re.compile(r"\{([^{}]*)\}")


def file_of(repository: Path, model: str, config: dict[str, Any]) -> Path:
    """The file of the configuration that Triton runs: on a GPU another, where the model has one."""
    folder = repository / model
    on_gpu = any(group.get("kind") == "KIND_GPU" for group in config["instance_group"])
    several = [folder / "configs" / f"{name}.pbtxt" for name in ("gpus", "gpu")] if on_gpu else []
    return next((path for path in several if path.is_file()), folder / "config.pbtxt")


def _in_file(config: Any) -> Knobs:
    """What a file says; 0 for what it leaves to the machine."""
    threads = next((config.parameters[name].string_value for name in THREADS if name in config.parameters), AUTO)
    counted = config.instance_group[0].count if config.instance_group else 0
    delay = config.dynamic_batching.max_queue_delay_microseconds
    return Knobs(delay, config.max_batch_size, counted, 0 if threads == AUTO else int(threads))


def changes(path: Path, running: Knobs, chosen: Knobs) -> dict[str, int]:
    """The settings that the file must have to run as ``chosen``. What it leaves to the machine and fits stays open."""
    there = _in_file(parsed(path))
    found = {}
    for name, value in vars(chosen).items():
        said = getattr(there, name)
        fits = value == said or (not said and value == getattr(running, name))
        if value is not None and not fits:
            found[name] = value
    return found


def lines(path: Path, changed: Mapping[str, int]) -> list[str]:
    """The changed settings as they stand in the file."""
    config = parsed(path)
    kind = ModelInstanceGroup.Kind.Name(config.instance_group[0].kind if config.instance_group else 0)
    threads = next((name for name in THREADS if name in config.parameters), THREADS[0])
    forms = {
        "max_queue_delay_us": "dynamic_batching {{ max_queue_delay_microseconds: {value} }}",
        "max_batch_size": "max_batch_size: {value}",
        "instances": f"instance_group [ {{{{ count: {{value}} kind: {kind} }}}} ]",
        "threads": f'parameters {{{{ key: "{threads}" value {{{{ string_value: "{{value}}" }}}} }}}}',
    }
    return [forms[name].format(value=value) for name, value in changed.items()]


def apply(path: Path, changed: Mapping[str, int]) -> None:
    """Write the settings into the file, whose comments stay.

    Raises ``ConfigError`` if its form is one in which they would not, and ``OSError``; the file is as before then.
    """
    if not os.access(path, os.W_OK):
        raise PermissionError(f"{path} cannot be written to")
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    wanted, comments = _with(parsed(path), changed), [found[0] for found in _COMMENT.finditer(text) if not found[1]]
    rest = iter(comments)
    edited = _edited(_COMMENT.sub(lambda found: found[1] or "#", text), changed)
    edited = _COMMENT.sub(lambda found: found[1] or next(rest), edited)
    try:
        is_right = text_format.Parse(edited, ModelConfig()) == wanted
    except text_format.ParseError:
        is_right = False
    if comments and not is_right:
        raise ConfigError(f"{path} has a form in which its comments would be lost")
    # A full disk leaves the old file, and a link stays one.
    target = path.resolve()
    new = target.with_suffix(".new")
    try:
        new.write_text(edited if is_right else str(text_format.MessageToString(wanted)), encoding="utf-8", newline="")
        shutil.copymode(target, new)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def _with(config: Any, changed: Mapping[str, int]) -> Any:
    if "max_batch_size" in changed:
        config.max_batch_size = changed["max_batch_size"]
    if "max_queue_delay_us" in changed:
        config.dynamic_batching.max_queue_delay_microseconds = changed["max_queue_delay_us"]
    if "instances" in changed:
        for group in config.instance_group:
            group.count = changed["instances"]
    if "threads" in changed:
        (name,) = (name for name in THREADS if name in config.parameters)
        config.parameters[name].string_value = str(changed["threads"])
    return config


def _edited(text: str, changed: Mapping[str, int]) -> str:
    """The text with the usual forms of the settings replaced."""
    edits: dict[str, Callable[[str, int], str]] = {
        "max_batch_size": lambda text, value: re.sub(r"(?m)^(\s*max_batch_size\s*:\s*)\d+", rf"\g<1>{value}", text),
        "max_queue_delay_us": _with_delay,
        "instances": lambda text, value: _GROUPS.sub(
            lambda groups: _GROUP.sub(lambda group: _counted(group[1], value), groups[0]), text
        ),
        "threads": lambda text, value: re.sub(
            rf"""(key:\s*["'](?:{"|".join(THREADS)})["'][\s,#]*value[\s:#]*\{{[\s#]*string_value:[\s#]*)["'][^"']*["']""",
            rf'\g<1>"{value}"',
            text,
        ),
    }
    for name, value in changed.items():
        text = edits[name](text, value)
    return text


def _with_delay(text: str, value: int) -> str:
    edited, found = re.subn(r"(max_queue_delay_microseconds\s*:\s*)\d+", rf"\g<1>{value}", text)
    if found:
        return edited
    return re.sub(r"(dynamic_batching\s*:?\s*\{)", rf"\g<1> max_queue_delay_microseconds: {value} ", text)


def _counted(group: str, count: int) -> str:
    inside, found = re.subn(r"(count\s*:\s*)\d+", rf"\g<1>{count}", group)
    return f"{{{inside}}}" if found else f"{{ count: {count}{group}}}"
