from frontend.http.schemas import answer_object, request_object


def test_an_answer_has_every_property_but_the_optional_ones() -> None:
    schema = answer_object({"a": {}, "b": {}}, "b")
    assert (schema["required"], schema["additionalProperties"]) == (["a"], False)


def test_a_request_has_no_other_properties_and_requires_what_is_named() -> None:
    schema = request_object({"a": {}, "b": {}}, "a")
    assert (schema["required"], schema["additionalProperties"]) == (["a"], False)
