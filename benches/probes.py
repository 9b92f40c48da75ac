"""Culprit's probes beside the tools that measure the same, in the same run.

All arms run interleaved, in an order that rotates every round. A ratio is Culprit's figure over the
peer's of the same round; all figures are medians over the rounds, with the lowest and highest.

- disk: against fio, on the very same file, which is written anew for every workload and round. The
  load is done by the worker that `culprit bench disk` starts in a place, because fio cannot use the file
  of a whole `bench`. The cache drops the file before each arm that reads around it. CPU time
  is that of the thread that does the load, in the measured time only, of both. At a depth fio runs
  twice: with its default, where it takes one answer at a time and leaves the others, which ages them,
  and set to take all answers, as Culprit does. fio reports a request's latency twice: `clat` begins
  when a call is made, for io_uring when it has returned, `lat` when the request is prepared.
  Culprit's begins just before the call: between the two. In the cache a request takes a microsecond, and
  what a tool does between two requests drives the kernel's code and data out of the CPU's caches: there fio
  runs a second time, set to measure only `clat`. Beside both, some lines of C read at random between two
  readings of the clock.
- syscall: getppid against `perf bench syscall basic`. Culprit reports CPU time, perf wall time; perf's
  CPU time is its process's, less that of a run with one call.
- net: both clients talk to Culprit's server. Round trips of a byte against some lines of C; requests
  for a page, a connection each and 8 at once, against wrk. Rates can be compared, latencies cannot:
  wrk's begin when the connection stands. Both have one thread that waits for all of them.
- cmd: against hyperfine, without a shell. `CPU reported` is the mean CPU time of the command as the tool
  reports it; `CPU used` is that of the whole tool with its children, its own start included, by the number of
  runs.

usage: probes.py CULPRIT [--rounds N] [--only disk,net,syscall,cmd]
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

OURS = "culprit"

# What `culprit bench disk` is asked for, and the same in fio's words.
DISK = {
    "4K random read, cached, psync": ("", "--rw=randread --bs=4k --ioengine=psync"),
    "4K random read, direct, psync": (
        "--cache direct", "--rw=randread --bs=4k --ioengine=psync --direct=1"),
    "4K random read, direct, io_uring 16": (
        "--cache direct --engine io_uring --depth 16",
        "--rw=randread --bs=4k --ioengine=io_uring --iodepth=16 --direct=1"),
    "128K random read, cached, psync": ("--block 128k", "--rw=randread --bs=128k --ioengine=psync"),
    "4K random write, direct, io_uring 16": (
        "--cache direct --engine io_uring --depth 16 --write 100",
        "--rw=randwrite --bs=4k --ioengine=io_uring --iodepth=16 --direct=1"),
}
TIMES = "--size 64m --ramp 200ms --duration 1s --cool-down 50ms"
# What is written stays the same bytes, as Culprit's does; nothing lays out or truncates the file; its
# memory begins at a page, as Culprit's does: copies of 128 KiB from page to page take 5 to 10 % longer. Its
# jobs are processes, as by default: in threads each read also counts the uses of the open file, 0.04 us.
FIO = ("--name=job --size=64m --ramp_time=200ms --runtime=1s --time_based=1 --norandommap=1 --randrepeat=0 "
       "--invalidate=0 --overwrite=1 --allow_file_create=0 --scramble_buffers=0 --iomem_align=4096 "
       "--lat_percentiles=1 --clat_percentiles=1 --output-format=json")
CLAT_ALONE = "--lat_percentiles=0 --disable_lat=1 --disable_slat=1 --disable_bw_measurement=1"
REAPS = "--iodepth_batch_complete_min=1 --iodepth_batch_complete_max=16"

# Calls of getppid that perf makes a round.
CALLS = 2_000_000

TRIPS = 4000
CLIENTS = 8

# A command, and its runs a round.
COMMANDS = {"/bin/true": 100, "sleep 0.01": 30}

# What both programs in C begin with: the clock, and the order of times.
TIMED = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
static int order(const void *a, const void *b) {
    return (*(long *)a > *(long *)b) - (*(long *)a < *(long *)b);
}
"""

# One byte there and back on one connection, as the probe does: ns of the median trip.
CLIENT = TIMED + r"""
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc != 3) return 1;
    // On one CPU with the server's thread, which goes where the second byte says.
    int cpu = sched_getcpu();
    unsigned char begin[] = {'E', cpu};
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
    int count = atoi(argv[2]), one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    long *ns = malloc(sizeof *ns * count);
    if (connect(s, (struct sockaddr *)&to, sizeof to)) return 1;
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (write(s, begin, 2) != 2 || read(s, begin, 1) != 1) return 1;
    for (int i = -100; i < count; i++) {
        char byte = 1;
        long begun = now();
        if (write(s, &byte, 1) != 1 || read(s, &byte, 1) != 1) return 1;
        if (i >= 0) ns[i] = now() - begun;
    }
    qsort(ns, count, sizeof *ns, order);
    printf("%ld\n", ns[count / 2]);
}
"""


# Random preads of a file, each between two looks at the clock: ns of the median read.
READS = TIMED + r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
enum { COUNT = 200000 };
static long ns[COUNT];
int main(int argc, char **argv) {
    if (argc != 3) return 1;
    long block = atol(argv[2]);
    int file = open(argv[1], O_RDONLY);
    off_t size = lseek(file, 0, SEEK_END);
    uint64_t seed = 88172645463325252u;
    void *buffer;
    if (file < 0 || size < block || posix_memalign(&buffer, 4096, block)) return 1;
    for (int i = 0; i < COUNT; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        off_t at = seed % (size / block) * block;
        long begun = now();
        if (pread(file, buffer, block, at) != block) return 1;
        ns[i] = now() - begun;
    }
    qsort(ns, COUNT, sizeof *ns, order);
    printf("%ld\n", ns[COUNT / 2]);
}
"""


class Worker:
    """What `culprit bench` starts in a place: a request a line, an answer a line."""

    def __init__(self, culprit, folder):
        self.folder = folder
        self.process = subprocess.Popen([culprit, "probe-worker"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, task, what):
        request = {"task": task, "dir": str(self.folder), "input": what}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                reply = json.loads(line)
                if "done" not in reply:
                    raise RuntimeError(f"{task}: {reply}")
                return reply["done"]["output"]
        raise RuntimeError(f"{task}: the worker has ended")

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


def run(command, folder):
    """What a command prints, and the CPU seconds of it and its children."""
    with open(f"{folder}/stdout", "w+b") as out, open(f"{folder}/stderr", "w+b") as err:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            process.kill()
            process.wait()
            raise
        for file in (out, err):
            file.seek(0)
        said, complaint = out.read().decode(), err.read().decode()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {process.returncode}: {complaint[-400:]}")
    return said, usage.ru_utime + usage.ru_stime


def compiled(source, name, folder, *flags):
    pathlib.Path(f"{folder}/{name}.c").write_text(source)
    run(["cc", "-O2", *flags, "-o", f"{folder}/{name}", f"{folder}/{name}.c"], folder)
    return f"{folder}/{name}"


def here(tool):
    found = shutil.which(tool)
    if not found:
        print(f"skipped: {tool} is not here", file=sys.stderr)
    return found


class Table:
    """Values of figures by arm, one a round."""

    def __init__(self):
        self.figures = {}

    def add(self, figure, unit, arm, value):
        self.figures.setdefault((figure, unit), {}).setdefault(arm, []).append(value)

    def show(self):
        rows = [("figure", "culprit", "peer", "", "ratio")]
        for (figure, unit), arms in self.figures.items():
            for peer in sorted(arms.keys() - {OURS}):
                ours, theirs = arms.get(OURS), arms[peer]
                if ours is None:
                    continue
                ratios = [one / other for one, other in zip(ours, theirs)]
                rows.append((f"{figure}, {unit}", spread(ours), peer, spread(theirs), spread(ratios)))
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def spread(values):
    middle = statistics.median(values)
    digits = 0 if middle >= 1000 else 1 if middle >= 10 else 2
    return f"{middle:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def take_turns(arms, round_):
    """Runs each arm, beginning with another one in each round."""
    names = list(arms)
    for name in names[round_ % len(names):] + names[:round_ % len(names)]:
        arms[name]()


# ---- disk

def disk(options, folder, table):
    if not here("fio"):
        return
    specs = {}
    for case, (ours, _) in DISK.items():
        words = [options.culprit, "bench", "disk", "--explain", "--json", *TIMES.split(), *ours.split()]
        specs[case] = json.loads(run(words, folder)[0])["workload"]
    reads = compiled(READS, "reads", folder) if here("cc") else None
    worker = Worker(options.culprit, f"{folder}/disk")
    with contextlib.closing(worker):
        for round_ in range(options.rounds):
            for case in DISK:
                disk_round(worker, specs[case], case, round_, reads, folder, table)


def disk_round(worker, spec, case, round_, reads, folder, table):
    file = f"{worker.folder}/file"
    worker.ask("disk-write", {"spec": spec, "files": 1})

    def keep(arm, figures):
        for what in ("clat", "lat"):
            if what in figures:
                table.add(case, f"p50 us ({what})", arm, figures[what] / 1e3)
        table.add(case, "requests/s", arm, figures["rate"])
        table.add(case, "CPU us each", arm, figures["cpu"] / 1e3)

    def ours():
        drop(file, spec)
        figures = worker.ask("disk", {"spec": spec, "file": file, "write": False, "round": round_ + 1})
        keep(OURS, our_figures(figures))

    def fio(arm, *more):
        drop(file, spec)
        words = ["fio", f"--filename={file}", *FIO.split(), *DISK[case][1].split(), *more]
        keep(arm, fio_figures(run(words, folder)[0]))

    def bare():
        said, _ = run([reads, file, str(spec["block"])], folder)
        table.add(case, "p50 us (clat)", "C", int(said) / 1e3)

    arms = {OURS: ours, "fio": lambda: fio("fio")}
    if spec["cache"] != "direct":
        arms["fio, clat alone"] = lambda: fio("fio, clat alone", *CLAT_ALONE.split())
        arms |= {"C": bare} if reads else {}
    if spec["depth"] > 1:
        arms["fio, reaps all"] = lambda: fio("fio, reaps all", *REAPS.split())
    take_turns(arms, round_)


def drop(file, spec):
    """So that every arm that goes around the page cache finds it without the file."""
    if spec["cache"] == "direct":
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def our_figures(figures):
    counts = {}
    for seen in (figures["reads"], figures["writes"]):
        for at, count in enumerate(seen["counts"]):
            counts[at] = counts.get(at, 0) + count
    total = sum(counts.values())
    p50 = quantile(counts, total / 2)
    return {"clat": p50, "lat": p50, "rate": total / figures["measured_ns"] * 1e9,
            "cpu": figures["used"]["cpu_ns"] / total}


def quantile(counts, rank):
    """The middle of the bucket: 64 to the octave, in Culprit's histograms as in fio's."""
    seen = 0
    for at in sorted(counts):
        seen += counts[at]
        if seen >= rank:
            shift = max(at // 64 - 1, 0)
            return ((at - shift * 64) << shift) + ((1 << shift) >> 1)
    raise RuntimeError("no requests")


def fio_figures(said):
    job = json.loads(said[said.index("{"):])["jobs"][0]
    seen = max(job["read"], job["write"], key=lambda one: one["total_ios"])
    cpu_ms = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"]
    p50 = {what: at["50.000000"] for what in ("clat", "lat") if (at := seen[f"{what}_ns"].get("percentile"))}
    return {**p50, "rate": seen["iops"], "cpu": cpu_ms * 1e6 / seen["total_ios"]}


# ---- syscall

def syscall(options, folder, table):
    if not here("perf"):
        return

    def ours():
        words = ["bench", "syscall", "--json", "--quiet", "--rounds", "1", "--warmup", "0", "--place", "host",
                 "--no-control"]
        figures = json.loads(run([options.culprit, *words], folder)[0])
        table.add("getppid", "ns", OURS, figures["places"][0]["runs"][0]["getppid_ns"])

    def perf():
        words = ["perf", "bench", "syscall", "basic", "-l"]
        _, start = run([*words, "1"], folder)
        said, cpu = run([*words, str(CALLS)], folder)
        wall = [line.split()[0] for line in said.splitlines() if "usecs/op" in line][0]
        table.add("getppid", "ns", "perf, wall time", float(wall) * 1e3)
        table.add("getppid", "ns", "perf, CPU time", (cpu - start) / CALLS * 1e9)

    for round_ in range(options.rounds):
        take_turns({OURS: ours, "perf": perf}, round_)


# ---- net

def net(options, folder, table):
    wrk, cc = here("wrk"), here("cc")
    if not wrk and not cc:
        return
    client = compiled(CLIENT, "client", folder) if cc else None
    server, talker = (Worker(options.culprit, f"{folder}/{name}") for name in ("server", "talker"))
    with contextlib.closing(server), contextlib.closing(talker):
        port = server.ask("net-serve", {"port": 0, "everywhere": False})["port"]

        def ours():
            talk = {"to": f"127.0.0.1:{port}", "datagrams": False, "trips": TRIPS, "connects": 1, "duration_ns": 10 ** 9, "rate": 1,
                    "seed": 1, "published": None}
            figures = talker.ask("net-talk", talk)
            if client:
                trips = figures["trips"]
                counts = dict(enumerate(trips["counts"]))
                table.add("round trip", "p50 us", OURS, quantile(counts, trips["count"] / 2) / 1e3)
            if wrk:
                table.add(f"pages, {CLIENTS} clients", "requests/s", OURS, figures["http_per_s"])

        def trips():
            said, _ = run([client, str(port), str(TRIPS)], folder)
            table.add("round trip", "p50 us", "C", int(said) / 1e3)

        def pages():
            words = ["wrk", "-t1", f"-c{CLIENTS}", "-d1s", "-H", "Connection: close", f"http://127.0.0.1:{port}/"]
            said, _ = run(words, folder)
            if "Socket errors" in said or "Non-2xx" in said:
                raise RuntimeError(f"wrk: {said}")
            rate = [line.split()[1] for line in said.splitlines() if line.startswith("Requests/sec:")][0]
            table.add(f"pages, {CLIENTS} clients", "requests/s", "wrk", float(rate))

        arms = {OURS: ours} | ({"C": trips} if client else {}) | ({"wrk": pages} if wrk else {})
        for round_ in range(options.rounds):
            take_turns(arms, round_)


# ---- cmd

def cmd(options, folder, table):
    if not here("hyperfine"):
        return
    commands = {command: (command, runs) for command, runs in COMMANDS.items()}
    if here("cc"):
        noop = compiled("int main(void) { return 0; }\n", "noop", folder, "-static")
        commands = {"static no-op": (noop, 100)} | commands
    for round_ in range(options.rounds):
        for name, (command, runs) in commands.items():
            cmd_round(options, name, command, runs, round_, folder, table)


def cmd_round(options, name, command, runs, round_, folder, table):
    def keep(arm, median, mean, reported, used):
        table.add(name, "median us", arm, median * 1e6)
        table.add(name, "mean us", arm, mean * 1e6)
        table.add(name, "CPU reported, us", arm, reported * 1e6)
        table.add(name, "CPU used, us a run", arm, used / runs * 1e6)

    def ours():
        words = ["bench", "cmd", "-N", "--json", "--quiet", "--rounds", str(runs), "--warmup", "0", "--place", "host",
                 "--no-control", command]
        said, cpu = run([options.culprit, *words], folder)
        figures = json.loads(said)["places"][0]
        theirs = statistics.mean(run["cpu_ns"] for run in figures["runs"]) / 1e9
        keep(OURS, figures["median_ns"] / 1e9, figures["mean_ns"] / 1e9, theirs, cpu)

    def hyperfine():
        words = ["hyperfine", "-N", "--runs", str(runs), "--warmup", "0", "--style", "none", "--export-json", "h.json",
                 command]
        _, cpu = run(words, folder)
        figures = json.loads(pathlib.Path(f"{folder}/h.json").read_text())["results"][0]
        keep("hyperfine", figures["median"], figures["mean"], figures["user"] + figures["system"], cpu)

    take_turns({OURS: ours, "hyperfine": hyperfine}, round_)


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parts = {"disk": disk, "syscall": syscall, "net": net, "cmd": cmd}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("culprit")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=",".join(parts), help="some of disk,net,syscall,cmd")
    options = parser.parse_args()
    options.culprit = str(pathlib.Path(options.culprit).resolve())
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(parts):
        parser.error(f"--only: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, interrupted)
    table, failures = Table(), 0
    try:
        # A disk's file system: /tmp may be memory.
        with tempfile.TemporaryDirectory(prefix="culprit-bench-", dir="/var/tmp") as folder:
            for part in chosen:
                try:
                    parts[part](options, folder, table)
                except RuntimeError as error:
                    failures += 1
                    print(f"failed: {part}: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        sys.exit(130)
    if table.figures:
        print(f"{options.rounds} interleaved rounds; median (lowest to highest)")
        table.show()
    sys.exit(1 if failures else 0)


main()
