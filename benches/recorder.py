"""What recording costs: the same pinned pipe ping-pong under nothing, perf, samply and culprit.

All arms run interleaved, in an order that rotates every round. Numbers are CPU time, not wall time:
`target` is what the recorded program itself used more than without a recorder, `recorder` what the
recording tool used until it ended (for culprit also apart from its analysis, which follows the
recording). Medians over the rounds, with the lowest and highest.

usage: recorder.py CULPRIT [--rounds N] [--trips N]
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def run(argv, out):
    """Runs one arm; returns the program's own report and the CPU ns of the tool beside it."""
    with open(out, "wb") as stdout:
        pid = os.posix_spawnp(
            argv[0],
            argv,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, stdout.fileno(), 1),
                          (os.POSIX_SPAWN_OPEN, 2, str(out) + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)],
        )
        _, status, usage = os.wait4(pid, 0)
    text = pathlib.Path(out).read_text()
    if status != 0 or "{" not in text:
        raise RuntimeError(f"{' '.join(argv)}: exit {status}: {pathlib.Path(str(out) + '.err').read_text()[-400:]}")
    report = json.loads([line for line in text.splitlines() if line.startswith("{")][0])
    total = int((usage.ru_utime + usage.ru_stime) * 1e9)
    return report, max(0, total - report["cpu_ns"])


def median(values):
    return statistics.median(values), min(values), max(values)


def show(name, values, base=None):
    middle, low, high = median(values)
    ratio = f"   x{middle / base:.2f}" if base else ""
    print(f"  {name:<34}{middle:8.3f} us/switch  ({low:.3f} to {high:.3f}){ratio}")


def arms(culprit, ping, trips, folder):
    program = [ping, str(trips)]
    found = {"nothing": program}
    if shutil.which("perf"):
        found["perf sched_switch -g"] = [
            "perf", "record", "-q", "-e", "sched:sched_switch", "-g", "-o", f"{folder}/perf.data", "--", *program]
    samply = shutil.which("samply")
    if samply:
        found["samply"] = [samply, "record", "--save-only", "--no-open", "-o", f"{folder}/samply.json.gz", "--", *program]
    record = [culprit, "record", "--quiet", "-o", f"{folder}/x.culprit"]
    found["culprit"] = [*record, "--", *program]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--trips", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        ping = f"{folder}/pingpong"
        subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-o", ping, str(HERE / "pingpong.c")], check=True)
        plan = arms(options.culprit, ping, options.trips, folder)
        target = {name: [] for name in plan}
        recorder = {name: [] for name in plan}
        rate = {name: [] for name in plan}
        names = list(plan)
        for round_ in range(options.rounds):
            for name in names[round_ % len(names):] + names[: round_ % len(names)]:
                try:
                    report, beside = run(plan[name], f"{folder}/out")
                except RuntimeError as error:
                    print(f"skipped: {name}: {error}", file=sys.stderr)
                    names.remove(name)
                    break
                target[name].append(report["cpu_ns"] / report["switches"] / 1e3)
                recorder[name].append(beside / report["switches"] / 1e3)
                rate[name].append(report["switches"] / report["wall_ns"] * 1e9)
        base = statistics.median(target["nothing"])
        print(f"pinned pipe ping-pong, {2 * options.trips} switches, {options.rounds} interleaved rounds")
        print(f"  without a recorder {base:.3f} us CPU a switch, {statistics.median(rate['nothing']):.0f} switches/s")
        peer = None
        for name in names[0:]:
            if name == "nothing":
                continue
            added = [value - base for value in target[name]]
            both = [a + r for a, r in zip(added, recorder[name])]
            if name.startswith("perf"):
                peer = statistics.median(added), statistics.median(both)
            against = peer if peer and not name.startswith("perf") else (None, None)
            show(f"{name}: added to the program", added, against[0])
            show(f"{name}: with the tool's own CPU", both, against[1])
            print(f"  {'':<34}{statistics.median(rate[name]):8.0f} switches/s while recorded")


main()
