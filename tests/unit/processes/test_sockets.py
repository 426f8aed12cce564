import socket

import pytest

from frontend.config.settings import Settings
from frontend.processes.sockets import bind, listen
from scripts.local_triton.checks import free_port


def test_both_ports_are_bound_and_refuse_callers_until_a_server_listens() -> None:
    for bound in bind(Settings(port=0, admin_port=free_port())):
        with bound, socket.socket() as caller:
            assert caller.connect_ex(bound.getsockname()) != 0


@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, socket.SO_REUSEPORT], ids=["another", "one that shares"])
def test_a_port_that_a_program_listens_on_is_an_error_that_names_it(option: int) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, option, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"^port {port} of 127\.0\.0\.1: Address already in use$"):
            bind(Settings(port=port))


def test_a_bound_port_is_shared_with_nobody() -> None:
    (bound,) = bind(Settings(port=0))
    with bound, socket.socket() as other:
        bound.listen()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(bound.getsockname())


def test_of_two_programs_that_bind_a_port_at_once_one_listens() -> None:
    (one,) = bind(Settings(port=0))
    port = one.getsockname()[1]
    (other,) = bind(Settings(port=port))
    with one, other:
        listen(one)
        # As another process of this service does.
        listen(one)
        with pytest.raises(OSError, match=rf"^port {port} of 127\.0\.0\.1: Address already in use$"):
            listen(other)


def test_a_host_without_an_address_is_an_error_that_names_it() -> None:
    with pytest.raises(OSError, match=r"^port 0 of nowhere\.invalid: "):
        bind(Settings(host="nowhere.invalid", port=0))
