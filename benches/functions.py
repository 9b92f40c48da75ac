"""A program of several functions with different shares of CPU time and three kinds of waits.

Prints as JSON what each function takes: `cpu` has the CPU time of some calls before the run, `waits` how long
each wait took in all, in ns. The functions take turns in small parts, so that each runs during the whole run.
During it, the program reads no clock of CPU time: that is a system call, and a sampler that stops the program finds
it there more often than it is.

usage: functions.py SECONDS
"""

import hashlib
import json
import os
import re
import sys
import tempfile
import threading
import time

WORD = re.compile(r"(\w+)@(\w+)\.org")
TEXT = "some words and name@example.org and more of it " * 60
WAITS = {}
CALLS = 50


def timed(function, *arguments):
    """Calls a function that waits."""
    before = time.monotonic_ns()
    function(*arguments)
    WAITS[function.__name__] = WAITS.get(function.__name__, 0) + time.monotonic_ns() - before


def add_up(count):
    total = 0
    for value in range(count):
        total += value * value % 7
    return total


def price(count):
    return add_up(count) + 1


def invoice():
    """Three deep: the time is in `add_up`."""
    for _ in range(4):
        price(9000)


def tally():
    counts = {}
    for value in range(9000):
        key = value % 97
        counts[key] = counts.get(key, 0) + 1


def find_addresses():
    """A C function: the time is in `re`."""
    for _ in range(40):
        WORD.findall(TEXT)


def check_sums():
    """A C function that releases the lock of the interpreter."""
    hashlib.sha256(b"x" * 400_000).digest()


def sort_rows():
    sorted(((value * 7919) % 5003 for value in range(4000)), reverse=True)


def nap():
    time.sleep(0.002)


def enter(lock):
    with lock:
        pass


def save(file):
    file.write(b"x" * 65536)
    file.flush()
    os.fsync(file.fileno())


def hold(lock, wanted, held):
    """Another thread has the lock for a while each time."""
    while wanted.acquire() and not DONE.is_set():
        with lock:
            held.release()
            time.sleep(0.002)


DONE = threading.Event()


def wait_for_lock(lock, wanted, held):
    wanted.release()
    held.acquire()
    timed(enter, lock)


def work(end, file):
    lock, wanted, held = threading.Lock(), threading.Semaphore(0), threading.Semaphore(0)
    other = threading.Thread(target=hold, args=(lock, wanted, held))
    other.start()
    while time.monotonic() < end:
        for function in FUNCTIONS:
            function()
        timed(nap)
        wait_for_lock(lock, wanted, held)
        timed(save, file)
    DONE.set()
    wanted.release()
    other.join()


FUNCTIONS = (invoice, tally, find_addresses, check_sums, sort_rows)


def cpu_time(function):
    before = time.thread_time_ns()
    for _ in range(CALLS):
        function()
    return time.thread_time_ns() - before


def main():
    cpu = {function.__name__: cpu_time(function) for function in FUNCTIONS}
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        work(time.monotonic() + float(sys.argv[1]), file)
    print(json.dumps({"cpu": cpu, "waits": WAITS}))


main()
