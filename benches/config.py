"""How far `config show` scales: 5,000 patches, 200 MB of XML, 300 conditions.

Makes a site whose files are as dense as those of the product itself: a comment of a few lines, then a setting. Most
settings are new, some change one of the base, some are set by several files. Takes the wall time and the peak memory of
`config show`, as text and as JSON, and of `config explain`.

usage: config.py CULPRIT
"""

import os
import pathlib
import random
import sys
import tempfile
import time

FILES = 5000
BYTES = 200_000_000
CONDITIONS = 300
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


def timed(command):
    """The wall time of each round in s, and the peak memory in MiB."""
    walls, peak = [], 0
    for _ in range(ROUNDS):
        start = time.monotonic()
        pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, usage = os.wait4(pid, 0)
        walls.append(time.monotonic() - start)
        assert os.waitstatus_to_exitcode(status) == 0, command
        peak = max(peak, usage.ru_maxrss >> 10)
    return sorted(walls), peak


def main():
    culprit = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        root = pathlib.Path(folder)
        size = site(root)
        print(f"{FILES} files, {size / 1e6:.0f} MB, about {CONDITIONS} conditions")
        for words in (["show"], ["show", "--json"], ["explain", "Base.Part7.Limit"]):
            walls, peak = timed([culprit, "config", words[0], *words[1:], "--root", folder, "--no-env"])
            print(f"config {' '.join(words)}: median {walls[len(walls) // 2]:.2f} s wall of {ROUNDS} "
                  f"(least {walls[0]:.2f}), peak {peak} MiB")


main()
