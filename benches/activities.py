"""What activities cost the recorded program: requests on sockets, and calls of a named function.

The program does nothing else (activities.c). Each is recorded with and without `--activity`,
interleaved, in an order that rotates every round. Numbers are CPU time of the program, medians over
the rounds with the lowest and highest.

usage: activities.py CULPRIT [--rounds N] [--count N]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
PORT = 23_411


def run(argv):
    """CPU time of the program, us each."""
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    report = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][0])
    return report["cpu_ns"] / report["count"] / 1e3


def arms(culprit, program, what, count, options, folder):
    made = [program, what, str(PORT), str(count)]
    record = [culprit, "record", "--quiet", "-o", f"{folder}/x.culprit"]
    found = {"nothing": made, "record": [*record, "--", *made]}
    for name, values in options.items():
        wanted = [word for value in values for word in ("--activity", value)]
        found[name] = [*record, *wanted, "--", *made]
    return found


def measure(title, plan, rounds):
    taken = {name: [] for name in plan}
    names = list(plan)
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[: turn % len(names)]:
            taken[name].append(run(plan[name]))
    base = statistics.median(taken["record"])
    print(f"{title}, {rounds} interleaved rounds: {statistics.median(taken['nothing']):.3f} us each, recorded {base:.3f}")
    for name in names[2:]:
        added = [value - base for value in taken[name]]
        print(f"  {name:<34} +{statistics.median(added):.2f} us each  ({min(added):.2f} to {max(added):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        program = f"{folder}/activities"
        subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-o", program, str(HERE / "activities.c")], check=True)
        one = {f"--activity x={side}:{PORT}": [f"x={side}:{PORT}"] for side in ("serve", "call")}
        requests = {**one, "--activity x=serve": ["x=serve"], "another port": [f"x=serve:{PORT + 1}"]}
        plan = arms(options.culprit, program, "requests", options.count, requests, folder)
        measure("requests, both ends recorded", plan, options.rounds)
        calls = {"--activity x=called": ["x=called"]}
        plan = arms(options.culprit, program, "calls", options.count, calls, folder)
        measure("calls", plan, options.rounds)


main()
