# Opening a service that reads its settings from a database. The database starts a process for each
# connection, as PostgreSQL does, and that process first loads what it needs.
#
#   each   a connection for every group of settings
#   one    one connection for all groups
#
# Usage: service.py each|one
import os, socket, sys

GROUPS = 20


def backend(client):
    # What a new session loads: catalogues, encodings, time zones, expressions.
    import decimal, email.parser, http.cookies, json, locale, logging.config, urllib.request, xml.dom.minidom
    import re

    for n in range(12):
        re.compile("(host|port|user|db%d)=([^; ]+)(;|$)" % n)
    while group := client.recv(100):
        client.send(json.dumps({"group": group.decode(), "cache": n}).encode())
    os._exit(0)


def serve(listener):
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            backend(client)
        client.close()


def read_settings(client, group):
    client.send(b"group %d" % group)
    return client.recv(1000)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    server = os.fork()
    if server == 0:
        import signal

        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        serve(listener)
    try:
        each = sys.argv[1:] == ["each"]
        client = None
        for group in range(GROUPS):
            if each or client is None:
                client = socket.create_connection(address)
            assert read_settings(client, group)
            if each:
                client.close()
        print(GROUPS, "groups of settings read")
    finally:
        os.kill(server, 15)
        os.waitpid(server, 0)


main()
