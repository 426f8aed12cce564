import numpy as np

from frontend.text.packed import packed_inputs


def test_texts_lie_end_to_end_with_the_length_of_each() -> None:
    packed = packed_inputs([np.array([5, 6, 7], np.int32), np.array([8], np.int32)])
    assert packed["input_ids"].tolist() == [[5, 6, 7, 8]]
    assert packed["lengths"].tolist() == [[3, 1]]
    assert {array.dtype for array in packed.values()} == {np.dtype(np.int32)}
