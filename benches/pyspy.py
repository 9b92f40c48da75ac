"""Whether Python functions have the same shares of CPU time as in py-spy, and what waits py-spy leaves out.

`culprit record` and py-spy watch the same process (functions.py) at the same time: the CPUs of a virtual machine run
the same function now quicker, now slower, so two runs differ by more than the tools do. A stack counts for the
innermost function of the program (own) and for each one on it (total); C functions and the standard library count
for their callers. Functions that wait are left out of the shares: py-spy counts waits for a disk as time on
the CPU. The program itself says which share each function has, and how long its waits took.

py-spy is on the path, or scripts/test-runtimes has fetched it.

usage: pyspy.py CULPRIT [--rounds N] [--seconds S] [--rate HZ]
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).parent / "functions.py"
# Both write frames of the program with this and the function's name.
PYSPY_FRAME = re.compile(r"^(\S+) \((?:.*/)?functions\.py:\d+\)$")
CULPRIT_FRAME = re.compile(r"^functions\.py!(\S+)$")
# Everything that is compared runs below it; what is not is the start and the end of the interpreter.
BELOW = "work"
WAITS = {"nap": "sleep", "enter": "lock", "save": "disk"}
# Shares below this are left out of the table.
LEAST = 0.005


def find_pyspy():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    cached = pathlib.Path(cache) / "culprit/runtimes/py-spy/py-spy"
    return shutil.which("py-spy") or (str(cached) if cached.exists() else None)


class Stacks:
    """Sums over stacks, by function of the program."""

    def __init__(self):
        self.own, self.total, self.all = collections.Counter(), collections.Counter(), 0
        # Of functions that wait: py-spy counts some waits as time on the CPU.
        self.waits, self.waiting = collections.Counter(), 0

    def add(self, collapsed, frame):
        """Adds lines of `frame;frame;... weight`, the outermost frame first."""
        for line in collapsed.splitlines():
            stack, _, weight = line.rpartition(" ")
            matches = (frame.match(name) for name in stack.split(";"))
            # From Python 3.11 on, functions have a name with their class or outer function.
            names = [match.group(1).rsplit(".", 1)[-1] for match in matches if match]
            if BELOW not in names:
                continue
            names = names[names.index(BELOW) + 1 :] or [BELOW]
            waits = set(names).intersection(WAITS)
            if waits:
                self.waiting += int(weight)
                self.waits.update({name: int(weight) for name in waits})
                continue
            self.all += int(weight)
            self.own[names[-1]] += int(weight)
            self.total.update({name: int(weight) for name in set(names)})

    def shares(self, sums):
        return {name: value / self.all for name, value in sums.items()}


def run(argv):
    """What the program measured."""
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


def export(culprit, recording, metric):
    argv = [culprit, "export", recording, "--to", "collapsed", "--metric", metric]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def measure(options, pyspy, folder):
    program = [sys.executable, str(PROGRAM), str(options.seconds)]
    raw, recording = f"{folder}/stacks.txt", f"{folder}/x.culprit"
    # Culprit records py-spy, too; only stacks of the program count.
    argv = [
        *[options.culprit, "record", "--quiet", "--force", "-o", recording, "--"],
        *[pyspy, "record", "-f", "raw", "-r", str(options.rate), "-o", raw, "--", *program],
    ]
    cpu = {"py-spy": Stacks(), "culprit": Stacks()}
    blocked = Stacks()
    alone, waited = collections.Counter(), collections.Counter()
    for _ in range(options.rounds):
        itself = run(argv)
        alone.update(itself["cpu"])
        waited.update(itself["waits"])
        cpu["py-spy"].add(pathlib.Path(raw).read_text(), PYSPY_FRAME)
        cpu["culprit"].add(export(options.culprit, recording, "cpu"), CULPRIT_FRAME)
        blocked.add(export(options.culprit, recording, "blocked"), CULPRIT_FRAME)
    return cpu, blocked, alone, waited


def compare(title, shares):
    """Prints shares of both beside each other; returns the largest difference."""
    worst = 0
    names = sorted(set().union(*shares.values()), key=lambda name: -shares["culprit"].get(name, 0))
    print(f"  {title:<22}{'py-spy':>9}{'culprit':>9}{'difference':>12}")
    for name in names:
        spy, ours = (shares[arm].get(name, 0) for arm in ("py-spy", "culprit"))
        worst = max(worst, abs(ours - spy))
        if max(spy, ours) >= LEAST:
            print(f"  {name:<22}{100 * spy:7.1f} %{100 * ours:7.1f} %{100 * (ours - spy):+9.1f}")
    return worst


def compare_itself(cpu, alone):
    """How far each is from what the functions take alone, in points of their sum."""
    for name, stacks in cpu.items():
        part = sum(stacks.total[function] for function in alone)
        off = {
            function: stacks.total[function] / part - time / alone.total() for function, time in alone.items()
        }
        worst = max(off, key=lambda function: abs(off[function]))
        print(f"  {name}: at most {100 * off[worst]:+.1f} points from the program's own clock ({worst})")


def waits(blocked, cpu, waited):
    spy = cpu["py-spy"]
    for function, kind in WAITS.items():
        print(
            f"  {function:<8}{kind:<7}culprit {blocked.waits[function] / 1e6:7.0f} ms blocked of"
            f" {waited[function] / 1e6:.0f} ms that the calls took; py-spy: {100 * spy.waits[function] / (spy.all + spy.waiting):.1f} % of"
            " its samples"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rate", type=int, default=200)
    options = parser.parse_args()
    options.culprit = str(pathlib.Path(options.culprit).resolve())
    pyspy = find_pyspy()
    if not pyspy:
        print("skipped: py-spy is missing: scripts/test-runtimes fetches it", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="culprit-bench-", dir="/var/tmp") as folder:
        cpu, blocked, alone, waited = measure(options, pyspy, folder)
    version = subprocess.run([pyspy, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    load = os.getloadavg()[0]
    print(f"Python functions, {version} at {options.rate} Hz, {options.rounds} rounds, load {load:.1f}")
    worst = compare("own share of CPU time", {name: stacks.shares(stacks.own) for name, stacks in cpu.items()})
    worst = max(worst, compare("total share", {name: stacks.shares(stacks.total) for name, stacks in cpu.items()}))
    print(f"  largest difference: {100 * worst:.1f} points")
    compare_itself(cpu, alone)
    print("waits: py-spy leaves threads out that are not on a CPU")
    waits(blocked, cpu, waited)


if __name__ == "__main__":
    main()
