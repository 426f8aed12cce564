"""What is told of the workers is what they read."""

import struct

import pytest

from frontend.processes.group import Board, Group


def test_what_was_told_last_is_read() -> None:
    board = Board.new()
    with pytest.raises(struct.error):
        board.read()
    for group in (Group(3), Group(3, accepting=2, leaving=1, restarts=70_000, failing=1)):
        board.write(group)
        assert Board(board.descriptor).read() == group
    board.close()
