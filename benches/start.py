"""What a recording adds to a command's wall time: its start and end, and a ping-pong of 240,000 switches.

`/bin/true` and the ping-pong run bare and under `culprit record`, in turn; the first also beside 200 and 2,000
threads of another program. Medians over the rounds, with the lowest and highest, and the recorder's CPU time.

usage: start.py CULPRIT [--rounds N] [--other CULPRIT]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).parent
TRIPS = 120_000


def run(argv):
    """Wall and CPU time of a command to its end, in s."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
    start = time.monotonic()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=null)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {status}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def interleaved(arms, rounds):
    found = {name: [] for name in arms}
    for turn in range(rounds):
        names = list(arms)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            found[name].append(run(arms[name]))
    return found


def told(values):
    return f"{statistics.median(values):7.3f} s ({min(values):.3f} to {max(values):.3f})"


def show(title, found):
    print(title)
    bare = statistics.median(wall for wall, _ in found["bare"])
    for name, times in found.items():
        walls = [wall for wall, _ in times]
        cpu = statistics.median(cpu for _, cpu in times)
        middle = statistics.median(walls)
        print(f"  {name:<10} wall {told(walls)}  +{middle - bare:.3f} s  x{middle / bare:.2f}  CPU {cpu:.3f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--other", help="another program to compare with")
    options = parser.parse_args()
    programs = {"culprit": options.culprit} | ({"other": options.other} if options.other else {})
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for source in ("pingpong", "crowd"):
            subprocess.run(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", f"{folder}/{source}",
                            str(HERE / f"{source}.c")], check=True)

        def arms(command):
            record = ["record", "--quiet", "--force", "-o", f"{folder}/x.culprit", "--"]
            return {"bare": command} | {name: [os.path.abspath(program), *record, *command]
                                        for name, program in programs.items()}

        for threads in (0, 200, 2_000):
            crowd = subprocess.Popen([f"{folder}/crowd", str(threads)]) if threads else None
            try:
                time.sleep(0.2)
                show(f"/bin/true beside {threads} other threads", interleaved(arms(["/bin/true"]), options.rounds))
            finally:
                if crowd:
                    crowd.kill()
                    crowd.wait()
        rounds = max(3, options.rounds // 2)
        show(f"ping-pong, {2 * TRIPS:,} switches", interleaved(arms([f"{folder}/pingpong", str(TRIPS)]), rounds))


if __name__ == "__main__":
    main()
