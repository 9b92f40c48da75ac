#!/usr/bin/env python3
"""How fast `culprit audit import` is, and how large its stores are.

    benches/audit.py CULPRIT_DATA [--interactions N] [--folder DIR]

Makes a sample, imports it as xDB JSON and as an access log, and prints wall-clock and CPU seconds, rates and bytes an
interaction. CPU seconds count when the machine is shared.
"""

import argparse
import json
import os
import shutil
import tempfile

from measured import measured


def size(folder):
    """Bytes of all files below a folder."""
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names)


def imports(program, folder, form, source):
    """Imports a source into a new store and prints what it took."""
    store = os.path.join(folder, f"store-{form}")
    shutil.rmtree(store, ignore_errors=True)
    wall, cpu, _, out = measured([program, "audit", "import", "--json", "--from", form, source, "-o", store])
    counts = json.loads(out)["counts"]
    read = size(source) if os.path.isdir(source) else os.path.getsize(source)
    interactions = max(counts["interactions"], 1)
    hot = size(os.path.join(store, "interactions"))
    print(f"{form}: {wall:.1f} s wall, {cpu:.1f} s CPU, {read / cpu / 1e9:.2f} GB and "
          f"{counts['rows'] / cpu / 1e6:.2f} M rows a CPU second; {hot / interactions:.1f} bytes an interaction in "
          f"the hot table, {size(store) / interactions:.0f} in all")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--interactions", type=int, default=1_000_000)
    parser.add_argument("--folder", help="keep the sample and the stores here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        sample = os.path.join(folder, "sample")
        make = ["audit", "sample", "--quiet", "-o", sample, "--interactions", str(options.interactions)]
        print(f"sample: {measured([options.program, *make])[1]:.1f} s CPU")
        imports(options.program, folder, "xdb-json", os.path.join(sample, "xdb-json"))
        imports(options.program, folder, "accesslog", os.path.join(sample, "access.log"))


main()
