from frontend.http.schemas import answer_object, request_object


def test_an_answer_requires_all_but_the_optional_properties() -> None:
    schema = answer_object({"a": {}, "b": {}}, "b")
    assert (schema["required"], schema["additionalProperties"]) == (["a"], False)


def test_a_request_requires_only_the_named_properties() -> None:
    schema = request_object({"a": {}, "b": {}}, "a")
    assert (schema["required"], schema["additionalProperties"]) == (["a"], False)
