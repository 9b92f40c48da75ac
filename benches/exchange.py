"""How fast a perf.data is read, beside perf itself on the same file.

Records a program of some hundred call chains with `perf record -g` (the CPU clock, as often as it
goes) until the file holds as many samples as are asked for. Then takes CPU time, user and system, and
peak memory of `culprit import`, of `perf report --stdio -g` and of `perf script` piped into a compiled
stackcollapse, one after the other, as often as asked for. 4,000,000 samples are 1.1 GB, of which one
round takes some four minutes; the default is a tenth of that.

usage: exchange.py CULPRIT [--samples N] [--rounds N] [--data FILE]
"""

import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent

# Bytes of a sample with some thirty addresses; how long to record at most, in seconds.
SAMPLE_BYTES = 280
LONGEST = 300


def compiled(folder, name, *flags):
    program = f"{folder}/{name}"
    subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program,
                    str(HERE / f"{name}.c"), *flags], check=True)
    return program


def record(folder, samples):
    """A perf.data of about so many samples."""
    data = f"{folder}/perf.data"
    program = compiled(folder, "chains", "-pthread")
    perf = subprocess.Popen(["perf", "record", "-q", "-g", "-m", "4096", "-e", "cpu-clock", "-c", "10000",
                             "-o", data, "--", program, "3", str(LONGEST)])
    until = time.monotonic() + LONGEST
    while time.monotonic() < until and perf.poll() is None:
        if os.path.exists(data) and os.path.getsize(data) >= samples * SAMPLE_BYTES:
            perf.send_signal(signal.SIGINT)
            break
        time.sleep(0.2)
    perf.wait()
    return data


def start(command, folder, stdin=None, stdout=None):
    return subprocess.Popen(command, cwd=folder, stdin=stdin, stdout=stdout or subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def cost(commands, folder):
    """User seconds, system seconds and the largest peak in MiB of a pipeline."""
    running, before = [], None
    for command in commands:
        last = command is commands[-1]
        process = start(command, folder, before, None if last else subprocess.PIPE)
        if before:
            before.close()
        before = process.stdout
        running.append((command, process))
    user = system = memory = 0
    for command, process in running:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status != 0:
            sys.exit(f"{' '.join(command)}: wait status {status}")
        user, system = user + usage.ru_utime, system + usage.ru_stime
        memory = max(memory, usage.ru_maxrss >> 10)
    return user, system, memory


def measure(options, folder):
    culprit = str(pathlib.Path(options.culprit).resolve())
    data = str(pathlib.Path(options.data).resolve()) if options.data else record(folder, options.samples)
    collapse = compiled(folder, "collapse")
    print(f"perf.data: {os.path.getsize(data) / 1e6:.0f} MB")
    peers = {
        "culprit import": [[culprit, "import", "--quiet", data, "-o", "x.culprit"]],
        "perf report --stdio -g": [["perf", "report", "--stdio", "-g", "-i", data]],
        "perf script | stackcollapse": [["perf", "script", "-i", data], [collapse]],
    }
    rounds = {name: [] for name in peers}
    for _ in range(options.rounds):
        for name, commands in peers.items():
            rounds[name].append(cost(commands, folder))
    said = subprocess.run([culprit, "import", "--json", data, "-o", "y.culprit"], cwd=folder, check=True,
                          capture_output=True, text=True).stdout
    print("imported:", " ".join(said.split())[:200])
    return rounds


def show(rounds):
    ours = statistics.median(user + system for user, system, _ in rounds["culprit import"])
    for name, costs in rounds.items():
        total = [user + system for user, system, _ in costs]
        middle = statistics.median(total)
        print(f"{name}: {middle:.2f} CPU s ({min(total):.2f} to {max(total):.2f}), "
              f"of it user {statistics.median(user for user, _, _ in costs):.2f}; "
              f"{max(memory for _, _, memory in costs)} MiB; {middle / ours:.1f} times import")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("culprit")
    parser.add_argument("--samples", type=int, default=400_000, help="about how many to record")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", help="a perf.data to read instead of recording one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        show(measure(options, folder))


main()
