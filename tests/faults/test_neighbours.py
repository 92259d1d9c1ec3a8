"""Other users of the machine: the embedded database answers none of them."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.local import neighbours
from service.local.emulator import Emulator
from service.local.neighbours import Address


@pytest.fixture
def connection() -> Iterator[tuple[Address, Address]]:
    """Both ends of a connection of our own."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as ours,
        server.accept()[0],
    ):
        yield ours.getsockname(), server.getsockname()


def test_the_kernel_tells_whose_a_connection_is(connection: tuple[Address, Address]) -> None:
    theirs, ours = connection
    assert neighbours.user_of(theirs, ours) == os.geteuid()
    assert neighbours.user_of(ours, theirs) == os.geteuid(), "the other end is ours too"
    assert neighbours.is_welcome(theirs, ours)
    for stranger, asked in [
        (theirs, (ours[0], 1)),
        (("127.0.0.2", theirs[1]), ours),  # the same port of another address
        (theirs, ("127.0.0.2", ours[1])),
    ]:
        assert neighbours.user_of(stranger, asked) is None
        assert not neighbours.is_welcome(stranger, asked)


def test_a_connection_over_ipv6_to_an_ipv4_address_is_known() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET6) as asking,
    ):
        try:
            asking.connect(("::ffff:127.0.0.1", server.getsockname()[1]))
        except OSError:
            pytest.skip("this machine speaks no IPv6")
        with server.accept()[0] as accepted:
            assert neighbours.user_of(accepted.getpeername(), accepted.getsockname()) == os.geteuid()


def test_a_connection_that_its_owner_has_closed_is_nobodys() -> None:
    """The kernel would say that it were the system's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asking = socket.create_connection(server.getsockname())
        asking.sendall(b"do this")
        theirs = asking.getsockname()
        with server.accept()[0] as accepted:
            asking.close()
            assert neighbours.user_of(theirs, accepted.getsockname()) is None


@pytest.mark.parametrize(("user", "welcome"), [(4711, True), (0, True), (4712, False), (None, False)])
def test_only_our_own_user_and_the_systems_are_let_in(
    monkeypatch: pytest.MonkeyPatch, user: int | None, welcome: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(neighbours, "user_of", lambda *_: user)
    assert neighbours.is_welcome(("127.0.0.1", 1), ("127.0.0.1", 2)) is welcome


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as somebody else")
def test_another_user_of_the_machine_gets_no_answer(emulator: Emulator) -> None:
    port = int(emulator.endpoint.rpartition(":")[2])
    assert [_answered(port, as_user=user) for user in (0, pwd.getpwnam("nobody").pw_uid)] == [True, False]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as somebody else")
def test_nor_from_the_port_that_a_connection_of_ours_has_on_another_address(emulator: Emulator) -> None:
    port = int(emulator.endpoint.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as ours:
        same = ours.getsockname()[1]
        assert not _answered(port, as_user=pwd.getpwnam("nobody").pw_uid, source=("127.0.0.2", same))
        assert _answered(port, as_user=0, source=("127.0.0.3", same)), "the address itself does no harm"


def _answered(port: int, *, as_user: int, source: Address | None = None) -> bool:
    """Does a process of this user get any byte out of the emulator?"""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(as_user)
            with socket.create_connection(("127.0.0.1", port), timeout=10, source_address=source) as asking:
                asking.sendall(b"GET /_tiptrace/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                code = 0 if asking.recv(1) else 1
        except ConnectionError:
            code = 1
        except BaseException:
            code = 2
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 1)
    return code == 0


async def test_what_lies_in_the_data_folder_is_its_owners_alone(emulator: Emulator) -> None:
    modes = {path.name: path.stat().st_mode & 0o077 for path in emulator.data_dir.iterdir()}
    assert modes["tables.journal"] == modes["endpoint.json"] == modes["objects"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a folder that is another user's")
def test_root_does_not_work_in_another_users_folder(tmp_path: Path) -> None:
    """What it wrote there, the owner could not open any more."""
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)
    ran = subprocess.run(
        [sys.executable, "-m", "service.cli", "admin", "doctor", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert "belongs to user" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []
