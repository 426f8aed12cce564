"""Ports that are taken, and ports that cannot change."""

import dataclasses
import socket
import threading
from contextlib import closing
from typing import Any

import pytest

from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.processes.sockets import Sockets, check_same


def test_each_port_has_a_socket_that_does_not_listen_yet() -> None:
    with closing(Sockets(Settings(port=0))) as sockets:
        listening, admin = sockets.descriptors
        assert admin == -1
        with socket.socket(fileno=socket.dup(listening)) as bound, socket.socket() as caller:
            assert caller.connect_ex(bound.getsockname()) != 0


def test_a_taken_admin_port_gives_the_other_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        Sockets(Settings(port=0, admin_port=taken.getsockname()[1]))


def test_a_port_that_is_let_go_of_in_a_moment_is_waited_for() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    letting_go = threading.Timer(0.25, taken.close)
    letting_go.start()
    with closing(Sockets(Settings(host="127.0.0.1", port=port))) as sockets:
        assert sockets.descriptors[0] >= 0
    letting_go.join()


@pytest.mark.parametrize("name", ["host", "port", "admin_host", "admin_port"])
def test_what_is_bound_cannot_change(name: str) -> None:
    settings = Settings()
    changed: dict[str, Any] = {name: "0.0.0.0" if name.endswith("host") else 1}
    other = dataclasses.replace(settings, **changed)
    check_same(settings, settings)
    with pytest.raises(SettingsError, match=f"QUARTET_{name.upper()}: cannot change"):
        check_same(settings, other)
