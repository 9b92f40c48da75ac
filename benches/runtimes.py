"""How much slower programs of language runtimes get by recording, with and without runtime help.

Each runtime has the same program (runtimes/): `cpu` works all the time, `mixed` also reads a file and sleeps. It
does a fixed number of orders, chosen so that it takes about a second. It runs bare, under `perf record -g` at the
same rate, and under `record`, interleaved, in an order that rotates every round.

Numbers are ratios to the bare run of the same round: the median with the lowest and the highest. `pieces` compares
pieces of about 100 ms instead, all of an arm together, but for those of the first second: a quarter of the pieces are
shorter than the one that is compared. On a machine that is now quicker, now slower, that repeats far better than whole
runs. `recorder` is the CPU time of Culprit while it records, of the program's wall time.

Missing runtimes are left out; scripts/test-runtimes fetches .NET and its compiler.

usage: runtimes.py CULPRIT [--rounds N] [--seconds S] [--only WORD] [--without-perf]
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SOURCES = HERE / "runtimes"
Runtime = collections.namedtuple("Runtime", "name command")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
# Orders of the first run, from which the number for a second is known.
FIRST = 20_000


def cached(path):
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "culprit/runtimes" / path


def version_of(argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    return re.search(r"\d+[\d.]*", done.stdout + done.stderr).group()


def compile_java(folder):
    if not shutil.which("javac"):
        return None
    subprocess.run(["javac", "-d", folder, str(SOURCES / "Orders.java")], check=True)
    return ["java", "-cp", folder, "Orders"]


def compile_dotnet(folder):
    """Compiles as scripts/test-runtimes compiles the tests' program, for .NET 8."""
    dotnet, compiler = str(cached("dotnet-8/dotnet")), cached("compiler/compile.dll")
    libraries = sorted(cached("dotnet-3.1/shared/Microsoft.NETCore.App").glob("*/System.Runtime.dll"))
    if not (os.path.exists(dotnet) and compiler.exists() and libraries):
        return None
    program = pathlib.Path(folder) / "Orders.dll"
    argv = [dotnet, str(compiler), str(program), str(libraries[0].parent), str(SOURCES / "Orders.cs")]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    framework = {"name": "Microsoft.NETCore.App", "version": "8.0.0"}
    program.with_suffix(".runtimeconfig.json").write_text(json.dumps({"runtimeOptions": {"framework": framework}}))
    return [dotnet, str(program)]


def runtimes(folder):
    """The runtimes of this machine."""
    version = version_of([sys.executable, "--version"])
    yield Runtime(f"CPython {version}", [sys.executable, str(SOURCES / "orders.py")])
    for name, command, source in [
        ("Node.js", "node", "orders.js"), ("Ruby", "ruby", "orders.rb"), ("PHP", "php", "orders.php")
    ]:
        if shutil.which(command):
            yield Runtime(f"{name} {version_of([command, '--version'])}", [command, str(SOURCES / source)])
        else:
            print(f"skipped: {name} is missing", file=sys.stderr)
    for name, command in [("JVM", compile_java(folder)), (".NET", compile_dotnet(folder))]:
        if not command:
            print(f"skipped: {name} or its compiler is missing", file=sys.stderr)
        elif name == "JVM":
            yield Runtime(f"JVM {version_of(['java', '-version'])}", command)
        else:
            yield Runtime(".NET 8", command)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.timed, self.file = f"{folder}/timed", f"{folder}/data"
        subprocess.run(["cc", "-O2", "-o", self.timed, str(HERE / "timed.c")], check=True)
        pathlib.Path(self.file).write_bytes(b"x" * 65536)

    def run(self, before, command, part, count):
        """What the program took, start and end included."""
        piece = max(250, int(count / self.options.seconds / 10 / 250) * 250)
        argv = [*before, self.timed, *command, part, str(count), self.file, str(piece)]
        environment = dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1")
        done = subprocess.run(argv, check=True, capture_output=True, text=True, env=environment)
        return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])

    def orders(self, command, part):
        """The number that takes about as long as was asked for. Compilers speed up, so it takes some tries."""
        count = FIRST
        for _ in range(4):
            factor = self.options.seconds * 1e9 / self.run([], command, part, count)["wall_ns"]
            count = max(250, int(count * min(factor, 50)))
        return count

    def recorder_cpu(self, recording):
        report = [self.options.culprit, "report", recording]
        text = subprocess.run(report, check=True, capture_output=True, text=True).stdout
        value, unit = re.search(r"the recorder used ([\d.]+) (\w+) of CPU time", text).groups()
        return float(value) * UNITS[unit]

    def measure(self, runtime, part):
        record = [self.options.culprit, "record", "--quiet", "--force", "-o"]
        arms = {"bare": []}
        if shutil.which("perf") and not self.options.without_perf:
            perf = ["perf", "record", "--quiet", "-e", "cpu-clock", "-F", "999", "-g"]
            arms["perf"] = [*perf, "-o", f"{self.folder}/perf.data", "--"]
        arms["record"] = [*record, f"{self.folder}/record.culprit", "--"]
        count = self.orders(runtime.command, part)
        taken = {name: [] for name in arms}
        names = list(arms)
        for turn in range(self.options.rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                taken[name].append(self.run(arms[name], runtime.command, part, count))
        share = self.recorder_cpu(f"{self.folder}/record.culprit") / taken["record"][-1]["wall_ns"]
        bare = statistics.median(each["wall_ns"] for each in taken["bare"]) / 1e9
        cells = [
            cell
            for arm in ("perf", "record")
            for cell in [*(slowdown(taken, arm, what) for what in ("cpu_ns", "wall_ns")), pieces(taken, arm)]
        ]
        print(f"| {runtime.name} | {part} | {bare:.2f} s | {' | '.join(cells)} | {100 * share:.1f} % |", flush=True)


def slowdown(taken, arm, what):
    """Ratios to the bare run of the same round."""
    if arm not in taken:
        return ""
    more = [100 * (each[what] / bare[what] - 1) for each, bare in zip(taken[arm], taken["bare"])]
    return f"{statistics.median(more):+.1f} % ({min(more):+.1f} to {max(more):+.1f})"


def pieces(taken, arm):
    """The lower quartile of an arm's pieces, beside that of the bare runs."""
    if arm not in taken:
        return ""

    def quartile(name):
        steady = []
        for run in taken[name]:
            ends = itertools.accumulate(run["pieces_ns"])
            steady += [piece for piece, end in zip(run["pieces_ns"], ends) if end - piece >= 1e9]
        return statistics.quantiles(steady, n=4)[0]

    return f"{100 * (quartile(arm) / quartile('bare') - 1):+.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="", metavar="WORD", help="only runtimes whose name holds this")
    parser.add_argument("--without-perf", action="store_true", help="only bare and `record`")
    options = parser.parse_args()
    options.culprit = str(pathlib.Path(options.culprit).resolve())
    with tempfile.TemporaryDirectory(prefix="culprit-bench-", dir="/var/tmp") as folder:
        bench = Bench(options, folder)
        print(f"slow-down by recording, {options.rounds} interleaved rounds, {os.cpu_count()} CPUs, "
              f"load {os.getloadavg()[0]:.1f}")
        columns = [f"{arm}: {what}" for arm in ("perf", "record") for what in ("CPU time", "wall", "pieces")]
        print("|", " | ".join(["runtime", "program", "bare", *columns, "recorder"]), "|")
        print("|---" * 10 + "|")
        for runtime in runtimes(folder):
            if options.only in runtime.name:
                for part in ("cpu", "mixed"):
                    bench.measure(runtime, part)


if __name__ == "__main__":
    main()
