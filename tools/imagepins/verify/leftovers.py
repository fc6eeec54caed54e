"""Containers of runs that died → removed. A container carries the mark of the process that made it.

The marks are the same whichever command runs something in an image, so each removes what any of them left.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import APIClient

RUN_LABEL = "org.imagepins.run"
HOST_LABEL = "org.imagepins.host"


def marks_of(pid: int) -> dict[str, str]:
    """Labels for a container of the run of this process."""
    return {RUN_LABEL: process_mark(pid), HOST_LABEL: process_space()}


def process_space() -> str:
    """Where process numbers mean what they mean here: the machine, and its namespace of them."""
    with suppress(OSError):
        return f"{socket.gethostname()}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 - as below
    return socket.gethostname()


def remove(client: APIClient, name: str) -> None:
    """Remove a container and its anonymous volumes, whatever state it is in; none of that name is fine."""
    from docker.errors import APIError
    from requests.exceptions import RequestException

    with suppress(APIError, RequestException):
        client.remove_container(name, force=True, v=True)


def remove_leftovers(client: APIClient) -> None:
    """Remove containers of runs on this machine, and among its processes, whose process is gone."""
    for container in client.containers(all=True, filters={"label": RUN_LABEL}):
        if is_leftover(container["Labels"]):
            remove(client, container["Id"])


def is_leftover(labels: Mapping[str, str]) -> bool:
    """Whether a container with these labels is of a run on this machine whose process is gone."""
    return labels.get(HOST_LABEL) == process_space() and not is_alive(labels.get(RUN_LABEL, ""))


def process_mark(pid: int) -> str:
    """``PID:START`` of a living process, START in ticks since boot, so that a number used again is told apart."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - on the fast path of every verify
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return f"{pid}:0"
    return f"{pid}:{fields[19]}"


def is_alive(mark: str) -> bool:
    """Whether the process that made this mark still runs; one that may not be looked at counts as that."""
    pid = mark.partition(":")[0]
    if not pid.isdigit() or mark.endswith(":0"):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return process_mark(int(pid)) in (mark, f"{pid}:0")  # hidepid leaves the processes of others out of /proc
    return process_mark(int(pid)) == mark
