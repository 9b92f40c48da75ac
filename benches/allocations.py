"""What sampled allocations cost the recorded program, and how near their shares are to the truth.

The program (allocations.c) makes 30 million small allocations in five functions, about five million a
second, and counts them. It runs bare, recorded, and recorded with `--alloc`, interleaved, in an order that
rotates every round. Numbers are CPU time of the program, medians over the rounds with the lowest and highest,
and the quickest run of each against the quickest bare one: what others do on the machine is least in that.
Then without work between the allocations: the bare cost of one.

usage: allocations.py CULPRIT [--rounds N] [--count N]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent


def run(argv):
    """What the program counted."""
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][0])


def shares(values):
    """Values as shares of their sum."""
    return {name: value / sum(values.values()) for name, value in values.items()}


def estimated(culprit, metric, recording, module):
    """What a recording says of each function: value and standard error."""
    top = [culprit, "top", recording, "--metric", metric, "--limit", "0", "--json"]
    rows = json.loads(subprocess.run(top, check=True, capture_output=True, text=True).stdout)["rows"]
    named = {row["name"].removeprefix(f"{module}!"): row for row in rows if row["name"].startswith(f"{module}!")}
    return {name: (row["own"], row["own_error"]) for name, row in named.items()}


def measure(title, culprit, program, words, rounds, folder):
    """Slow-downs; what the program counted in the last run."""
    record = [culprit, "record", "--quiet", "--force", "-o", f"{folder}/x.culprit"]
    made = [program, *words]
    plan = {"bare": made, "record": [*record, "--", *made], "record --alloc": [*record, "--alloc", "--", *made]}
    taken = {name: [] for name in plan}
    names = list(plan)
    for turn in range(rounds):
        order = names[turn % len(names) :] + names[: turn % len(names)]
        for name in order:
            told = run(plan[name])
            taken[name].append(told["cpu_ns"] / told["count"])
    print(f"{title}, {rounds} interleaved rounds: {statistics.median(taken['bare']):.1f} ns an allocation")
    for name in names[1:]:
        ratios = [value / bare for value, bare in zip(taken[name], taken["bare"])]
        added = [value - bare for value, bare in zip(taken[name], taken["bare"])]
        spread = f"{100 * (min(ratios) - 1):+.1f} to {100 * (max(ratios) - 1):+.1f} %"
        quickest = min(taken[name]) / min(taken["bare"])
        print(
            f"  {name:<16} {100 * (statistics.median(ratios) - 1):+.1f} % ({spread}),"
            f" {statistics.median(added):+.1f} ns an allocation; quickest {100 * (quickest - 1):+.1f} %"
        )


def compare(culprit, program, words, folder):
    """The recorded shares beside the true ones."""
    recording = f"{folder}/y.culprit"
    record = [culprit, "record", "--quiet", "--alloc", "-o", recording, "--", program, *words]
    truth = run(record)
    module = pathlib.Path(program).name
    for metric, key in (("allocs", "sites"), ("alloc-bytes", "bytes")):
        found = estimated(culprit, metric, recording, module)
        true, told = shares(truth[key]), shares({name: found.get(name, (0, 0))[0] for name in truth[key]})
        worst = max(abs(true[name] - told[name]) for name in true)
        print(f"shares of {metric}: at most {100 * worst:.1f} points from the truth")
        for name, value in sorted(truth[key].items(), key=lambda item: -item[1]):
            value_told, error = found.get(name, (0, 0))
            off = abs(value_told - value) / error if error else 0
            print(
                f"  {name:<12} {100 * true[name]:5.1f} %, told {100 * told[name]:5.1f} %;"
                f" {value} told as {value_told}, {off:.1f} standard errors away"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=30_000_000)
    options = parser.parse_args()
    culprit = str(pathlib.Path(options.culprit).resolve())
    with tempfile.TemporaryDirectory(prefix="culprit-bench-", dir="/var/tmp") as folder:
        program = f"{folder}/allocations"
        subprocess.run(["cc", "-O2", "-g", "-o", program, str(HERE / "allocations.c")], check=True)
        count = str(options.count)
        measure("with work", culprit, program, [count], options.rounds, folder)
        measure("without work", culprit, program, [count, "0"], options.rounds, folder)
        compare(culprit, program, [count], folder)


if __name__ == "__main__":
    main()
