"""What a prepaid organisation may send: requests whose tokens are bounded by their bytes and numbers."""

from collections.abc import Mapping
from typing import Any

from frontend.errors import InvalidRequest
from frontend.parameters.table import check_name

COMPLETIONS, RESPONSES = "/chat/completions", "/responses"
# The names of the most tokens of an answer, of which servers read those of the path. The last one is added to a request
# that has none: every server knows it.
MAXIMA: Mapping[str, tuple[str, ...]] = {
    COMPLETIONS: ("max_completion_tokens", "max_tokens"),
    RESPONSES: ("max_output_tokens",),
}
_COUNTS = frozenset(("n", *(name for names in MAXIMA.values() for name in names)))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Parameters of OpenAI, and of servers of open models, that make no request dearer than its bytes and numbers.
_COMMON = _names("""
    model stream stream_options temperature top_p top_k min_p seed stop user metadata store service_tier tools
    tool_choice parallel_tool_calls safety_identifier prompt_cache_key prompt_cache_retention presence_penalty
    frequency_penalty repetition_penalty top_logprobs reasoning reasoning_effort verbosity chat_template_kwargs
    modalities max_tool_calls thinking add_generation_prompt continue_final_message
""")
_OWN = {
    COMPLETIONS: _names("""
        messages logit_bias logprobs response_format functions function_call guided_json guided_regex guided_choice
        guided_grammar structured_outputs stop_token_ids min_tokens ignore_eos length_penalty skip_special_tokens
        include_stop_str_in_output
    """),
    RESPONSES: _names("input instructions text truncation include"),
}
# These name content that the server has.
_REFERENCES = _names("previous_response_id conversation prompt")
_TOOLS = ("function", "custom")
# What names a template's own settings. Others may replace the template, or fill up the text to a length.
_TEMPLATE = _names("reasoning_effort thinking_mode thinking_budget date_string builtin_tools model_identity")
# The fields of messages and items whose content is in the request, and the types of these.
_FIELDS = _names("""
    role content name type text id status tool_calls tool_call_id function function_call arguments refusal index
    reasoning reasoning_content call_id output summary encrypted_content annotations logprobs cache_control phase
    custom input thinking
""")
_TYPES = _names("""
    text input_text output_text refusal message function function_call function_call_output reasoning reasoning_text
    summary_text custom custom_tool_call custom_tool_call_output thinking
""")
# An item that has no others is one that the server has stored, or reasoning that the server looks up.
_NAMING = _names("type id status summary")
# Fields that servers answered, with keys of their own.
_ANSWERED = ("annotations", "logprobs", "cache_control")


def references(path: str, values: Mapping[str, Any]) -> int:
    """How much of a request is not in its bytes: pictures, sounds, files, and what the server has stored.

    Raises ``InvalidRequest`` for a parameter whose cost nobody knows.
    """
    given, known = _given(values), _COMMON | _OWN[path] | _REFERENCES | _COUNTS
    for name in given:
        check_name(name)
        if name not in known:
            raise _unbounded(name)
    for name in _COUNTS & values.keys():
        value = values[name]
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise InvalidRequest(f"{name} must be a positive integer", param=name)
    if not isinstance(values.get("stream", False), bool):
        # Some servers take other values for true. Their usage would not be asked for.
        raise InvalidRequest("stream must be a boolean", param="stream")
    tools = given.get("tools", [])
    if not isinstance(tools, list) or any(
        not isinstance(tool, dict) or tool.get("type") not in _TOOLS for tool in tools
    ):
        raise _unbounded("tools")
    if given.get("modalities", ["text"]) != ["text"]:
        raise _unbounded("modalities")
    template = given.get("chat_template_kwargs", {})
    if not isinstance(template, dict) or any(
        name not in _TEMPLATE and not isinstance(value, bool) for name, value in _given(template).items()
    ):
        raise _unbounded("chat_template_kwargs")
    stored = sum(name in given for name in _REFERENCES)
    return stored + sum(_foreign(given.get(name)) for name in ("messages", "input", "instructions"))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that say something: clients send back what they got, with fields that are null."""
    return {name: value for name, value in values.items() if value not in (None, False, "", [], {})}


def _unbounded(name: str) -> InvalidRequest:
    """The refusal of a parameter."""
    sentence = "cannot be used by an organisation with a balance, because what it costs is not known beforehand"
    return InvalidRequest(f"{name} {sentence}", param=name)


def _foreign(value: Any) -> int:
    """The number of objects within a value whose content is not text, and of the entries of lists within those."""
    count = 0
    # Values, and whether each is the content of such an object.
    left: list[tuple[Any, bool]] = [(value, False)]
    while left:
        part, is_foreign = left.pop()
        if isinstance(part, list):
            # A field of an unknown name may list pictures, or a message with one may hold them.
            count += sum(not isinstance(inner, dict | list) for inner in part) if is_foreign else 0
            left += ((inner, is_foreign and isinstance(inner, list)) for inner in part)
        elif isinstance(part, dict) and is_foreign:
            left += ((inner, True) for inner in part.values())
        elif isinstance(part, dict):
            given = _given(part)
            is_foreign = not _is_text(given)
            count += is_foreign
            left += ((inner, is_foreign) for name, inner in given.items() if is_foreign or name not in _ANSWERED)
    return count


def _is_text(given: Mapping[str, Any]) -> bool:
    """Whether the content of an object is text that is in the request."""
    kind = given.get("type", "text")
    is_named = "id" in given and _NAMING.issuperset(given)
    return _FIELDS.issuperset(given) and isinstance(kind, str) and kind in _TYPES and not is_named
