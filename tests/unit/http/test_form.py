import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from aiohttp import StreamReader
from aiohttp.test_utils import make_mocked_request

from frontend.billing.bill import CONTENT
from frontend.config.settings import Settings
from frontend.errors import ApiError, InvalidRequest, TooLarge
from frontend.http import form
from frontend.http.form import Shape, read_form
from frontend.http.memory import MemoryBudget, MemoryReservation

SHAPE = Shape("file", ("language", "prompt"), 1024 * 1024)
FIELD = b'--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n'
FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
END = b"\r\n--x--\r\n"


class _Body:
    """A body that arrives in these pieces."""

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self._pieces = pieces
        self.total_bytes = 0

    def at_eof(self) -> bool:
        return self.total_bytes == sum(map(len, self._pieces))

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.total_bytes += len(piece)
            yield piece


async def _read(*pieces: bytes, boundary: str = "x") -> tuple[list[tuple[str, str]], bytes, bytes]:
    """The fields, the file and the digest of a form."""
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    request = make_mocked_request("POST", "/", headers=headers, payload=cast(StreamReader, _Body(pieces)))
    with MemoryReservation(MemoryBudget(1 << 30), "a") as holding:
        made = await read_form(request, Settings(), holding, SHAPE)
        return made.fields, made.file.read(made.file.size) if made.file else b"", request[CONTENT]


async def _refusal(*pieces: bytes, **more: str) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await _read(*pieces, **more)
    return refused.value


async def test_a_form_is_read_from_pieces_of_any_size() -> None:
    whole = FIELD + "Grüezi".encode() + b"\r\n" + FILE + bytes(range(256)) + END
    for size in (1, 7, len(whole)):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        assert (await _read(*pieces))[:2] == ([("prompt", "Grüezi")], bytes(range(256)))


@pytest.mark.parametrize("wrong", ["\nX: y", "\n", '\nfilename="b"'])
async def test_a_line_end_that_stands_alone_in_a_head_is_refused_in_any_pieces(wrong: str) -> None:
    whole = FILE.replace(b'"\r\n', f'"{wrong}\r\n'.encode()) + b"a" + END
    assert wrong.encode() in whole
    for place in range(1, len(whole)):
        assert (await _refusal(whole[:place], whole[place:])).status == 400
        # Each is a callback of its own.
        await asyncio.sleep(0)
    assert (await _refusal(whole)).status == 400


async def test_a_line_end_in_the_content_of_a_part_is_content() -> None:
    assert (await _read(FIELD + b"a\nb" + END))[0] == [("prompt", "a\nb")]


async def test_the_digest_covers_the_content_and_not_the_boundary() -> None:
    body = FIELD + b"a\r\n" + FILE + b"b" + END
    digest = (await _read(body))[2]
    assert (await _read(body.replace(b"--x", b"--yz"), boundary="yz"))[2] == digest
    assert (await _read(FIELD + b"b\r\n" + FILE + b"a" + END))[2] != digest


async def test_a_field_has_at_most_64_kib() -> None:
    assert (await _read(FIELD + b"a" * 65_536 + END))[0] == [("prompt", "a" * 65_536)]
    refusal = await _refusal(FIELD + b"a" * 65_537 + END)
    assert (type(refusal), refusal.param, refusal.message) == (InvalidRequest, "prompt", "prompt is too long")


async def test_a_file_has_at_most_the_largest_size() -> None:
    assert len((await _read(FILE + bytes(SHAPE.largest_file) + END))[1]) == SHAPE.largest_file
    assert type(await _refusal(FILE + bytes(SHAPE.largest_file + 1) + END)) is TooLarge


async def test_the_text_before_the_first_part_is_limited() -> None:
    form = FIELD + b"a" + END
    assert (await _read(b"p" * 60_000, b"\r\n" + form))[0] == [("prompt", "a")]
    assert type(await _refusal(b"p" * 60_000, b"p" * 10_000, b"\r\n" + form)) is InvalidRequest


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--x\r\nnonsense",
        FIELD + b"a",
        FIELD + b"\xff" + END,
        b"--x\r\nContent-Disposition: form-data\r\n\r\na" + END,
        b'--x\r\nContent-Disposition: form-data; name="\xff"\r\n\r\na' + END,
        FIELD.replace(b'"prompt"', b'"prompt"\r\nContent-Type: multipart/mixed; boundary=y') + b"a" + END,
        FIELD.replace(b'"prompt"', b'"prompt"; filename="a"') + b"a" + END,
        FIELD.replace(b"prompt", b"stream") + b"a" + END,
        FILE + b"a\r\n" + FILE + b"b" + END,
        (FIELD + b"a\r\n") * 65 + END,
    ],
)
async def test_a_malformed_form_is_400(body: bytes) -> None:
    assert type(await _refusal(body)) is InvalidRequest


async def test_a_form_has_64_parts() -> None:
    assert len((await _read((FIELD + b"a\r\n") * 64 + END))[0]) == 64


async def test_a_boundary_may_have_70_characters() -> None:
    boundary = "x" * 70
    body = (FIELD + b"a" + END).replace(b"--x", f"--{boundary}".encode())
    assert (await _read(body, boundary=boundary))[0] == [("prompt", "a")]


async def test_the_head_of_a_part_may_have_tabs_as_blanks() -> None:
    assert (await _read(FIELD.replace(b"; ", b";\t") + b"a" + END))[0] == [("prompt", "a")]


@pytest.mark.parametrize("boundary", ["", "x" * 71, "ü"])
async def test_a_boundary_without_1_to_70_ascii_characters_is_refused(boundary: str) -> None:
    assert type(await _refusal(FIELD + b"a" + END, boundary=boundary)) is InvalidRequest


async def test_our_own_error_is_no_error_of_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise ValueError

    monkeypatch.setattr(form._Reader, "begin", fail)
    with pytest.raises(ValueError, match="^$"):
        await _read(FIELD + b"a" + END)
