"""Whether verdicts are right in real sessions: identical arms, and slow-downs of known size.

`same`: the host against itself, by several probes. Every judged comparison that says slower or faster
is a false alarm. `planted`: a program that works for a given CPU time against the same with more of it;
a verdict of slower is a success, and the error of its ratio is printed.

usage: same.py CULPRIT [--sessions N] [--planted N]
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import tempfile

PROBES = [
    ["syscall", "--calls", "20000"],
    ["files", "--files", "300", "--records", "100"],
    ["disk", "--size", "8m", "--ramp", "50ms", "--duration", "300ms"],
    ["memory", "--size", "8m"],
]
FACTORS = [1.05, 1.1, 1.5, 2.0]
WORK = r"""
#include <stdlib.h>
int main(int argc, char **argv) {
    volatile double x = 1;
    for (long n = atol(argv[1]); n > 0; n--) x = x * 1.0000001 + 0.1;
    return 0;
}
"""


def bench(culprit, arguments, folder):
    """The JSON of one session."""
    done = subprocess.run([culprit, "bench", *arguments, "--json"], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments}: {done.stderr[-400:]}")
    return json.loads(done.stdout)


def same(culprit, sessions, folder):
    """Sessions of the host against itself."""
    verdicts, alarms = collections.Counter(), 0
    for number in range(sessions):
        probe = PROBES[number % len(PROBES)]
        # Two spellings of one folder, so that there are two places to compare.
        result = bench(culprit, [*probe, "--place", f"host:{folder}", "--place", f"host:{folder}/.", "--budget", "20s"], folder)
        judged = {metric["id"] for metric in result["metrics"] if metric["judged"]}
        rows = [row for row in result["compare"] if row["metric"] in judged and row["b"] != result["compare"][0]["a"]]
        candidates = {arm["arm"] for arm in result["places"] if arm["role"] == "candidate"}
        said = [row["verdict"] for row in rows if row["b"] in candidates]
        verdicts.update(said)
        wrong = [row for row in rows if row["b"] in candidates and row["verdict"] in ("slower", "faster")]
        alarms += bool(wrong)
        for row in wrong:
            print(f"  {probe[0]}: {row['metric']} x{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f}) {row['verdict']}")
    print(f"same: {alarms} of {sessions} sessions with a false alarm; verdicts {dict(verdicts)}")


def planted(culprit, sessions, folder):
    """Sessions against a program that works longer."""
    source, program = folder / "work.c", folder / "work"
    source.write_text(WORK)
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    loops = 6_000_000
    for factor in FACTORS:
        said, errors = collections.Counter(), []
        for _ in range(sessions):
            commands = [f"{program} {loops}", f"{program} {int(loops * factor)}"]
            result = bench(culprit, ["cmd", "-N", "--budget", "20s", *commands], folder)
            row = next(row for row in result["compare"] if row["metric"] == result["headline"] and row["b"] != row["a"])
            said[row["verdict"]] += 1
            errors.append(row["ratio"] / factor)
        print(f"planted x{factor}: {dict(said)} of {sessions}; ratio measured / planted {statistics.median(errors):.3f}")


def main():
    """Both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--planted", type=int, default=5)
    arguments = parser.parse_args()
    culprit = str(pathlib.Path(arguments.culprit).resolve())
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        same(culprit, arguments.sessions, folder)
        planted(culprit, arguments.planted, folder)


if __name__ == "__main__":
    main()
