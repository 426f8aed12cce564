from frontend.http.incoming import LONGEST_HEAD, Incoming


def _sizes(incoming: Incoming, seconds: float, count: int = 6) -> list[int]:
    """The sizes of the next pieces where each takes so long."""
    sizes = []
    for _ in range(count):
        sizes.append(len(incoming.take(keep=False)))
        incoming.took(seconds)
    return sizes


def test_everything_is_handed_out_in_order() -> None:
    data = bytes(range(256)) * 100
    incoming = Incoming()
    incoming.add(data[:10_000])
    incoming.add(data[10_000:])
    pieces = []
    while incoming:
        pieces.append(incoming.take(keep=False))
    assert b"".join(pieces) == data


def test_pieces_grow_while_they_are_fast_and_shrink_while_they_are_slow() -> None:
    incoming = Incoming()
    incoming.add(bytes(100_000))
    assert _sizes(incoming, 0.0) == [1024, 2048, 4096, 8192, 8192, 8192]
    assert _sizes(incoming, 0.1) == [8192, 4096, 2048, 1024, 1024, 1024]


def test_a_head_is_what_was_kept_and_what_follows() -> None:
    incoming = Incoming()
    incoming.add(b"a" * 1024 + b"b" * 1024)
    incoming.take(keep=True)
    incoming.took(1.0)
    assert incoming.head() == b"a" * 1024 + b"b" * 1024
    incoming.take(keep=False)
    assert incoming.head() == b"a" * 1024
    incoming.forget_head()
    assert incoming.head() == b""


def test_no_more_of_a_head_is_kept_than_is_looked_at() -> None:
    incoming = Incoming()
    incoming.add(bytes(1_000_000))
    while incoming:
        incoming.take(keep=True)
        incoming.took(0.0)
    assert LONGEST_HEAD <= len(incoming.head()) < LONGEST_HEAD + 8192
