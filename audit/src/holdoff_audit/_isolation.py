"""A network namespace: libraries in C and other processes are offline, too. Linux only, if the system allows it."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from contextlib import suppress

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def isolate() -> bool:
    """Leaves the machine's network, and keeps the loopback interface. Returns False if the system refuses that."""
    if sys.platform != "linux":
        return False
    # There is no way back, so another process tries it first.
    trial = os.fork()
    if trial == 0:
        os._exit(0 if _leave_network() else 1)
    return os.waitpid(trial, 0)[1] == 0 and _leave_network()


def _leave_network() -> bool:
    with suppress(OSError, AttributeError):
        unshare = ctypes.CDLL(None, use_errno=True).unshare
        uid, gid = os.getuid(), os.getgid()
        if unshare(_NEW_NETWORK) != 0:
            if unshare(_NEW_USER | _NEW_NETWORK) != 0:
                return False
            # The process keeps its user and group.
            for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
                with open(f"/proc/self/{file}", "w") as settings:
                    settings.write(text)
        return _raise_loopback()
    return False


def _raise_loopback() -> bool:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = fcntl.ioctl(control, _GET_FLAGS, struct.pack("16sh14x", b"lo", 0))
        (value,) = struct.unpack_from("h", flags, 16)
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", value | _UP))
    return True
