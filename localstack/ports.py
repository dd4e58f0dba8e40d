"""Ports on the loopback address: the requested one where it is free, else any; and where servers listen."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from localstack.processes import LaunchError

HOST = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - by choice: containers on Linux do not reach the loopback address
BIND = "RAGDROP_BIND"


def bind_address(environment: Mapping[str, str]) -> str:
    """The address on which emulator and model servers listen; callers on this machine use the loopback either way.

    Raises:
        LaunchError: It is another address: the emulator's own functions call it on the loopback.

    >>> bind_address({}), bind_address({"RAGDROP_BIND": "0.0.0.0"})
    ('127.0.0.1', '0.0.0.0')
    """
    address = environment.get(BIND) or HOST
    if address not in {HOST, EVERYWHERE}:
        raise LaunchError(
            f"{BIND} is {address!r}; it must be {HOST}, or {EVERYWHERE} so that containers reach the servers too"
        )
    return address


def is_free(port: int) -> bool:
    """Whether a server could listen on *port* now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def choose_port(*wanted: int | None) -> int:
    """The first of *wanted* that is free, else one that the system gives."""
    for port in wanted:
        if port is not None and is_free(port):
            return port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
