# For every function of some modules: `FIRST_LINE TABLE LINES`, where TABLE is its table of lines in
# hexadecimal, and LINES are `OFFSET:LINE` of its instructions as Python itself decodes them, 0 for
# none.
import argparse
import asyncio.tasks
import contextlib
import dataclasses
import dis
import inspect
import json.decoder
import types
import typing
import sys

MODULES = [argparse, asyncio.tasks, contextlib, dataclasses, dis, inspect, json.decoder, typing]


def functions(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from functions(constant)


def lines(code):
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                yield offset, line or 0
        return
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        yield offset, line


# Long functions, far jumps between lines in both directions, and code without lines.
made = ["def made(x):", " try:", "  for y in x:"] + ["   x += 1"] * 300 + ["\n" * 500 + "   x += 2"]
made += [" finally:", "  (x.f(\n\n\n\n1,\n2)\n  if x else\n  3)", "class Late: pass\n" * 9]
sources = [inspect.getsource(module) for module in MODULES] + ["\n".join(made) + "\n"]

print(*sys.version_info[:2])
for source in sources:
    for code in functions(compile(source, "lines.py", "exec")):
        table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
        pairs = ",".join("%d:%d" % pair for pair in lines(code))
        print(code.co_firstlineno, table.hex() or "-", pairs)
