# SPDX-License-Identifier: Apache-2.0
"""Ports of the servers that tests start."""
import contextlib
import random
import socket
import time

CLAIMS = []


def claim(port):
    """Claims a port among all tests of the machine, for as long as this process or one that it forks lives: a server takes
    seconds from the choice of its port until it listens there. Another one would choose it meanwhile, be taken for the first,
    and have its buckets emptied. The claim is a name of a socket, which the kernel gives back by itself."""
    s = socket.socket(socket.AF_UNIX)
    try:
        s.bind(f"\0haul-test-port-{port}")
    except OSError:
        s.close()
        return False
    CLAIMS.append(s)
    return True


def free_ports(n):
    """Ports that are free now, and that no other test claims. A program that is none of a test may still take one before the
    caller does, so callers try again. The range excludes the ports that the kernel gives to connections, because a busy test
    may occupy most of those for a minute."""
    ports = []
    while len(ports) < n:
        port = random.randrange(10240, 32768)
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("127.0.0.1", port))
            ports += [port] if claim(port) else []
    return ports


def wait_for(port, seconds, process=None):
    """Waits until something listens on the port; returns False if the process ends or the time is over before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        if process is not None and process.poll() is not None:
            return False
        time.sleep(0.02)
    return False
