"""How fast a perf.data is read, beside perf itself on the same file.

Records a ping-pong with `perf record -g` (a clock and every switch) for as many round trips as are
asked for, then takes the CPU time and the peak memory of `culprit import`, `perf report --stdio -g`
and `perf script` (whose text stackcollapse would have to read as well) on it. 2,000,000 round trips
make some 4 million samples in 1 GB; the default is a twentieth of that.

usage: exchange.py CULPRIT [ROUND_TRIPS]
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def cost(command, folder):
    """CPU seconds and peak MiB of a command and what it starts."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.chdir(folder)
        os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def main():
    culprit = str(pathlib.Path(sys.argv[1]).resolve())
    trips = sys.argv[2] if len(sys.argv) > 2 else "100000"
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        ping = f"{folder}/pingpong"
        subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-o", ping, str(HERE / "pingpong.c")], check=True)
        data = f"{folder}/perf.data"
        subprocess.run(["perf", "record", "-q", "-g", "-m", "2048", "-e", "cpu-clock", "-F", "4000",
                        "-e", "sched:sched_switch", "-o", data, "--", ping, trips],
                       check=True, capture_output=True)
        print(f"perf.data: {os.path.getsize(data) / 1e6:.0f} MB")
        ours, memory = cost([culprit, "import", "--quiet", data, "-o", "x.culprit"], folder)
        print(f"culprit import: {ours:.2f} CPU s, {memory} MiB")
        for name, command, share in [
            ("perf report --stdio -g", ["perf", "report", "--stdio", "-g", "-i", data], 5),
            ("perf script", ["perf", "script", "-i", data], 10),
        ]:
            cpu, memory = cost(command, folder)
            print(f"{name}: {cpu:.2f} CPU s, {memory} MiB; {cpu / ours:.1f} times ours (wanted: {share})")


main()
