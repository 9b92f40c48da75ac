# The start of an application that asks three services of a network.
#
#   await        it asks one after the other and waits for each answer
#   background   a thread asks, the start goes on
#
# Usage: start.py await|background
import os, signal, socket, sys, threading, time

# How long each takes to answer, in seconds.
SERVICES = {"licence": 0.30, "analytics": 0.57, "device": 0.10}


def serve(listener, pause):
    while True:
        client, _ = listener.accept()
        question = client.recv(100)
        time.sleep(pause)
        client.send(question + b": yes")
        client.close()


def ask(address, question):
    with socket.create_connection(address) as service:
        service.send(question)
        return service.recv(1000)


def check_licence(addresses):
    return ask(addresses["licence"], b"valid")


def start_analytics(addresses):
    return ask(addresses["analytics"], b"session")


def detect_device(addresses):
    return ask(addresses["device"], b"model")


def ask_all(addresses):
    return [check_licence(addresses), start_analytics(addresses), detect_device(addresses)]


def build_first_page():
    return sum(n * n for n in range(600_000))


def main():
    addresses, servers = {}, []
    for name, pause in SERVICES.items():
        listener = socket.create_server(("127.0.0.1", 0))
        addresses[name] = listener.getsockname()
        servers.append(os.fork())
        if servers[-1] == 0:
            serve(listener, pause)
        listener.close()
    try:
        if sys.argv[1:] == ["await"]:
            assert len(ask_all(addresses)) == len(SERVICES)
        else:
            threading.Thread(target=ask_all, args=[addresses], daemon=True).start()
        print("first page", build_first_page())
    finally:
        for server in servers:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)


main()
