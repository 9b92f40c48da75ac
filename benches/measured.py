"""What a command costs: for the benchmarks beside this file."""

import os
import subprocess
import sys
import time


def measured(command):
    """Wall-clock and CPU seconds, MiB of memory, and what a command printed."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    # The usage of this process alone: that of all children has the most memory of any of them.
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out
