# SPDX-License-Identifier: MIT
"""front.py DIR PORT: TLS in front of a service on loopback, for releases that
know a domain and no URL. Makes DIR/ca.pem, for every name below ebb.test;
prints its port; runs until it is killed."""

import asyncio
import ssl
import subprocess
import sys

PIECE = 65536


def certificate(directory):
    names = ",".join(f"DNS:{name}" for name in ("ebb.test", "*.ebb.test"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=ebb.test", "-addext", f"subjectAltName={names}",
         "-keyout", f"{directory}/key.pem", "-out", f"{directory}/ca.pem"],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{directory}/ca.pem", f"{directory}/key.pem")
    context.set_alpn_protocols(["http/1.1"])
    return context


async def copy(source, sink):
    try:
        while data := await source.read(PIECE):
            sink.write(data)
            await sink.drain()
    except (ConnectionError, ssl.SSLError):
        pass  # gone is gone; the other side hears of it
    finally:
        sink.close()


async def main(directory, port):
    async def serve(reader, writer):
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, to_writer), copy(to_reader, writer))

    server = await asyncio.start_server(
        serve, "127.0.0.1", 0, ssl=certificate(directory))
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
