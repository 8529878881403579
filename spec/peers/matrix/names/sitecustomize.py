# SPDX-License-Identifier: MIT
"""Read by Python when it starts: every name below ebb.test is loopback, as a
wildcard in DNS would say. The SDK itself stays as it is."""

import socket

_look_up = socket.getaddrinfo


def _getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if name and name.endswith(".ebb.test"):
        host = "127.0.0.1"
    return _look_up(host, *rest, **more)


socket.getaddrinfo = _getaddrinfo
