#!/usr/bin/env python3
"""Makes the pattern lists in this folder from the packages that their authors publish.

    npm pack isbot@5.2.3 crawler-user-agents@1.60.0
    pip download --no-deps --no-binary :all: crawlerdetect==0.4.2
    # unpack the three archives into DIR/isbot, DIR/crawler-user-agents, DIR/crawlerdetect
    python3 make.py DIR

The engine that runs the patterns has no look-around. A pattern with one is written here again by hand
as a pattern and the text that it must not be a part of; a new one stops this script.
"""

import json
import pathlib
import re
import sys

# Pattern of the package: what to search, and what is blanked out before the search.
REWRITTEN = {
    r"(?:^|[^g])news(?!sapphire)": (r"(?:^|[^g])news", r"newssapphire"),
    r"(?<! channel/|google/)google(?!(?:wv|app|/google| pixel))": (
        r"google",
        r"(?: channel/|google/)google|google(?:wv|app| pixel)",
    ),
    r"(?<! cu)bots?(?:\b|_)": (r"bots?(?:\b|_)", r" cubots?"),
    r"(?<!cam)scan": (r"scan", r"camscan"),
    r"(?<!lib)http": (r"http", r"libhttp"),
    r"java(?!;)": (r"java", r"java;"),
    r"Yandex(?!Search)": (r"Yandex", r"YandexSearch"),
}


def line(pattern, tags=()):
    # A class next to a hyphen: JavaScript takes the hyphen for itself, other engines for a range.
    pattern = pattern.replace(r"\d-.", r"\d\-.")
    searched, except_ = REWRITTEN.get(pattern, (pattern, ""))
    if re.search(r"\(\?(?:[=!]|<[=!])", searched):
        sys.exit(f"look-around: add it to REWRITTEN: {pattern}")
    # Inside a line the fields are separated by tabs.
    fields = [searched.replace("\t", r"\t"), ",".join(tags), except_.replace("\t", r"\t")]
    return "\t".join(fields).rstrip("\t")


def write(name, version, source, licence, patterns, erased=()):
    head = [f"# name: {name}", f"# version: {version}", f"# source: {source}", f"# licence: {licence}"]
    body = [line(pattern, tags) for pattern, tags in patterns]
    if erased:
        body += ["[erased]"] + [line(pattern) for pattern in erased]
    pathlib.Path(f"{name}.txt").write_text("\n".join(head + body) + "\n", encoding="utf-8")


def strings(source):
    """The raw strings of a Python file that holds one list."""
    return re.findall(r'^\s+r"(.*)",$', source.read_text(encoding="utf-8"), re.M)


def main(folder):
    text = (folder / "isbot/index.mjs").read_text(encoding="utf-8")
    isbot = json.loads(text[text.index("[") : text.index("];") + 1])
    version = json.loads((folder / "isbot/package.json").read_text())["version"]
    write("isbot", version, "npm isbot", "Unlicense", [(pattern, ()) for pattern in isbot])

    crawlers = json.loads((folder / "crawler-user-agents/crawler-user-agents.json").read_text())
    version = json.loads((folder / "crawler-user-agents/package.json").read_text())["version"]
    patterns = [(entry["pattern"], entry.get("tags", [])) for entry in crawlers]
    write("crawler-user-agents", version, "npm crawler-user-agents", "MIT", patterns)

    providers = folder / "crawlerdetect/crawlerdetect/providers"
    version = re.search(r"^Version: (.*)$", (folder / "crawlerdetect/PKG-INFO").read_text(), re.M).group(1)
    patterns = [(pattern, ()) for pattern in strings(providers / "crawlers.py")]
    erased = strings(providers / "exclusions.py")
    write("crawlerdetect", version, "PyPI crawlerdetect", "MIT", patterns, erased)


main(pathlib.Path(sys.argv[1]))
