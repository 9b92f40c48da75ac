"""How far recording and reporting scale: lost records and the time of the first view.

Records a pinned ping-pong long enough for a million intervals, checks that no switch record was
lost, and takes the CPU and wall time of `report` on the result. With the example `rules` of
crates/findings it also takes the time of all rules on a recording of more than four million intervals.

usage: scale.py CULPRIT [RULES]
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent


def main():
    culprit = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        ping = f"{folder}/pingpong"
        subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-o", ping, str(HERE / "pingpong.c")], check=True)
        recording = f"{folder}/x.culprit"
        run = subprocess.run([culprit, "record", "--quiet", "-o", recording, "--", ping, "300000"],
                             check=True, capture_output=True, text=True)
        said = json.loads(run.stdout)
        rate = said["switches"] / said["wall_ns"] * 1e9
        print(f"recorded {said['switches']} switches at {rate:.0f} a second, {os.path.getsize(recording) >> 20} MiB")
        walls = []
        for _ in range(5):
            start = time.monotonic()
            report = subprocess.run([culprit, "report", "--json", recording], check=True, capture_output=True)
            walls.append(time.monotonic() - start)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        document = json.loads(report.stdout)
        print(f"report: median {sorted(walls)[2]:.2f} s wall of 5, peak {usage.ru_maxrss >> 10} MiB")
        lost = [loss for loss in document.get("losses", []) if "lost" in loss.get("kind", "")]
        print("lost:", lost or "nothing")
        for rules in sys.argv[2:]:
            subprocess.run([culprit, "record", "--quiet", "-o", recording, "--", ping, "900000"],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run([rules, recording], check=True)


main()
