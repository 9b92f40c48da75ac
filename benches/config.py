"""How far `config show` scales: 5,000 patches, 200 MB of XML, 300 conditions.

Makes a site whose files are as dense as those of the product itself: a comment of a few lines, then a setting. Most
settings are new, some change one of the base, some are set by several files. Takes the wall time, the processor time and
the peak memory of `config show`, as text and as JSON, of `config explain`, also from a snapshot, and of `config drift`
over 1,000 containers.

usage: config.py CULPRIT
"""

import json
import os
import pathlib
import random
import sys
import tempfile
import time

FILES = 5000
BYTES = 200_000_000
CONDITIONS = 300
CONTAINERS = 1000
ROUNDS = 3
SPACES = """xmlns:patch="http://www.sitecore.net/xmlconfig/" xmlns:set="http://www.sitecore.net/xmlconfig/set/"
  xmlns:role="http://www.sitecore.net/xmlconfig/role/\""""
WEB = """<configuration>
  <appSettings><add key="role:define" value="ContentDelivery"/></appSettings>
  <sitecore configSource="App_Config\\Sitecore.config"/>
</configuration>
"""
COMMENT = """      <!--  {name}
            Says how the part of this name behaves when it starts, and how long it waits for another part before it
            gives up. The default is the value that the part itself has, and it seldom needs to be changed.
      -->
"""


def setting(at, number, chance):
    """A setting with its comment; one in ten changes one of the base."""
    if chance.random() < 0.1:
        name = f"Base.Part{chance.randrange(2000)}.Limit"
        line = f'      <setting name="{name}" set:value="{number}"/>\n'
    else:
        name = f"Module{at}.Feature{number}.Interval"
        line = f'      <setting name="{name}" value="00:{number % 60:02}:{at % 60:02}"/>\n'
    return COMMENT.format(name=name) + line


def patch(at, size, condition, chance):
    lines = [f"<configuration {SPACES}>\n  <sitecore>\n"]
    lines.append('    <settings role:require="ContentManagement or ContentDelivery">\n' if condition else "    <settings>\n")
    length = sum(map(len, lines))
    number = 0
    while length < size:
        lines.append(setting(at, number, chance))
        length += len(lines[-1])
        number += 1
    lines.append("    </settings>\n  </sitecore>\n</configuration>\n")
    return "".join(lines)


def site(root):
    chance = random.Random(1)
    config = root / "App_Config"
    config.mkdir()
    (root / "web.config").write_text(WEB)
    base = "".join(f'    <setting name="Base.Part{at}.Limit" value="0"/>\n' for at in range(2000))
    (config / "Sitecore.config").write_text(f"<sitecore>\n  <settings>\n{base}  </settings>\n</sitecore>\n")
    size = 0
    for at in range(FILES):
        folder = config / "Include" / f"Group{at % 50:02}"
        folder.mkdir(parents=True, exist_ok=True)
        text = patch(at, BYTES // FILES, at % (FILES // CONDITIONS) == 0, chance)
        (folder / f"Part{at:04}.config").write_text(text)
        size += len(text)
    return size


def containers(path):
    """What `docker inspect` prints of containers of 40 variables, one in ten with another value than the compose file."""
    def container(at):
        level = "old" if at % 10 == 0 else "info"
        variables = [f"LEVEL={level}"] + [f"NAME_{number}=value-{number}" for number in range(40)]
        return {"Id": f"c{at}", "Name": f"/web-{at}", "Image": "sha256:i", "State": {"Running": False},
                "Config": {"Image": "web:1", "Env": variables, "Labels": {"com.docker.compose.service": "web"}}}
    image = {"Id": "sha256:i", "RepoTags": ["web:1"], "Config": {"Env": ["PATH=/bin"]}}
    (path / "all.json").write_text(json.dumps([*map(container, range(CONTAINERS)), image]))
    names = "".join(f"      NAME_{number}: value-{number}\n" for number in range(40))
    (path / "compose.yaml").write_text(f"services:\n  web:\n    environment:\n      LEVEL: info\n{names}")


def timed(command):
    """The wall time of each round in s, the processor time of the last, and the peak memory in MiB."""
    walls, peak = [], 0
    for _ in range(ROUNDS):
        start = time.monotonic()
        pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, usage = os.wait4(pid, 0)
        walls.append(time.monotonic() - start)
        assert os.waitstatus_to_exitcode(status) == 0, command
        peak = max(peak, usage.ru_maxrss >> 10)
    return sorted(walls), usage.ru_utime + usage.ru_stime, peak


def report(culprit, *words):
    walls, processor, peak = timed([culprit, "config", *words])
    shown = " ".join(word for word in words if not word.startswith("/"))
    print(f"config {shown}: median {walls[len(walls) // 2]:.2f} s wall of {ROUNDS} "
          f"(least {walls[0]:.2f}), {processor:.2f} s processor, peak {peak} MiB")


def main():
    culprit = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        root = pathlib.Path(folder, "site")
        root.mkdir()
        size = site(root)
        print(f"{FILES} files, {size / 1e6:.0f} MB, about {CONDITIONS} conditions")
        of, kept = ("--root", str(root), "--no-env"), os.path.join(folder, "kept")
        report(culprit, "show", *of)
        report(culprit, "show", "--json", *of)
        report(culprit, "explain", "Base.Part7.Limit", *of)
        report(culprit, "snapshot", "-o", kept, *of)
        print(f"snapshot of {os.path.getsize(kept) / 1e6:.0f} MB")
        report(culprit, "explain", "Base.Part7.Limit", "--snapshot", kept)
        containers(pathlib.Path(folder))
        print(f"{CONTAINERS} containers")
        report(culprit, "drift", "--root", folder, "--inspect", os.path.join(folder, "all.json"))


main()
