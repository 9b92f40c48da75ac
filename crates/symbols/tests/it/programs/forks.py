# Forks while another thread waits. The child prints its number and waits; both end with stdin.
import os
import sys
import threading


def wait():
    sys.stdin.buffer.raw.read(1)


def work():
    wait()


threading.Thread(target=threading.Event().wait, daemon=True).start()
child = os.fork()
if child == 0:
    print(os.getpid(), flush=True)
    work()
else:
    os.waitpid(child, 0)
