"""What a command costs: for the benchmarks beside this file."""

import resource
import subprocess
import sys
import time


def measured(command):
    """Wall-clock and CPU seconds, MiB of memory, and what a command printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    wall = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024, done.stdout
