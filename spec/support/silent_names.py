# SPDX-License-Identifier: MIT
"""Runs a program where no name ever resolves: unshare -rmn silent_names.py …

In the namespaces that unshare has made it brings loopback up, names 127.0.0.1
as the one name server, and is that server: it takes every question and says
nothing.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile

SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def main():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(udp, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    udp.bind(("127.0.0.1", 53))
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("nameserver 127.0.0.1\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name,
                        os.path.realpath("/etc/resolv.conf")], check=True)
        sys.exit(subprocess.run(sys.argv[1:]).returncode)


main()
