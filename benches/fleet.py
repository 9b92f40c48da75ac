#!/usr/bin/env python3
"""How long views of a folder of recordings take, and whether their sums are right.

    benches/fleet.py CULPRIT FLEET_EXAMPLE SOURCES... [--recordings N] [--hosts N] [--folder DIR]

FLEET_EXAMPLE is the program `crates/engine/examples/fleet.rs`. It makes N recordings of SOURCES, as other machines
would have made them, whose sums are known. Prints wall-clock and CPU seconds and the largest memory of each view. CPU
seconds count when the machine is shared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from measured import measured


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("culprit")
    parser.add_argument("example")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--recordings", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--folder", help="keep the recordings here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.join(options.folder or temporary, "runs")
        if not os.path.isdir(folder):
            subprocess.run([options.example, *options.sources, folder, str(options.recordings), str(options.hosts)],
                           check=True)
        files = sorted(os.listdir(folder))
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in files)
        print(f"{len(files)} recordings, {size / 1e6:.0f} MB")
        expected = 0
        for at, source in enumerate(options.sources):
            total = json.loads(measured([options.culprit, "top", "--json", "--quiet", source])[3])["total"]
            expected += total * len(range(at, options.recordings, len(options.sources)))
        svg = os.path.join(options.folder or temporary, "fleet.svg")
        for name, arguments in {
            "flame graph": ["flame", folder, "-o", svg],
            "top by host": ["top", folder, "--by", "host", "--json"],
            "top of all threads": ["top", folder, "--metric", "wall", "--json"],
            "findings": ["findings", folder, "--json"],
        }.items():
            wall, cpu, memory, out = measured([options.culprit, *arguments, "--quiet"])
            print(f"{name}: {wall:.1f} s wall, {cpu:.1f} s CPU, at most {memory:.0f} MiB")
            if name == "top by host":
                document = json.loads(out)
                groups = sum(group["total"] for group in document["fleet"]["groups"])
                used = document["fleet"]["recordings"]
                if (document["total"], groups, used) != (expected, expected, options.recordings):
                    sys.exit(f"the sum is {document['total']}, of groups {groups}, and should be {expected}")
                print(f"  the sum of {used} recordings is exact")


main()
