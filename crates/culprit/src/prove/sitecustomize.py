# Reports what a program asks os.environ for, and otherwise changes nothing that a program could see.


def _observe():
    import atexit
    import json
    import os
    import sys

    here, log = "@HERE@", "@LOG@"
    while here in sys.path:
        sys.path.remove(here)
    # The program sees the PYTHONPATH that was set before; its children still load this hook.
    data = os.environ._data
    before = data.get(b"PYTHONPATH", b"").split(b":", 1)[1:]
    if before:
        data[b"PYTHONPATH"] = before[0]
    else:
        data.pop(b"PYTHONPATH", None)

    kind = type(os.environ)
    own = {__file__, kind.__getitem__.__code__.co_filename}
    own.update(part.get.__code__.co_filename for part in kind.__mro__ if "get" in vars(part))
    counts = {}
    standard = os.path.dirname(os.__file__) + os.sep

    def is_library(file):
        others = ("site-packages", "dist-packages")
        return file.startswith(("<frozen ", standard)) or any(one in file.split(os.sep) for one in others)

    def write(row):
        row["pid"] = os.getpid()
        try:
            file = os.open(log, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return
        try:
            os.write(file, json.dumps(row).encode() + b"\n")
        finally:
            os.close(file)

    def note(use, name):
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename in own:
            frame = frame.f_back
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if frame is None or not isinstance(name, str):
            return
        code = frame.f_code
        key = (use, name, code.co_filename, frame.f_lineno, code.co_name)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 1:
            write(row_of(key))

    def row_of(key):
        use, name, file, line, function = key
        row = {"use": use, "name": name, "file": file, "line": line, "function": function}
        row["count"] = counts[key]
        row["through"] = "os.environ"
        row["library"] = is_library(file)
        return row

    def finish():
        for key, count in counts.items():
            if count > 1:
                write(row_of(key))

    get = kind.__getitem__

    def __getitem__(self, key):
        note("get", key)
        return get(self, key)

    def __contains__(self, key):
        note("in", key)
        return self.encodekey(key) in self._data

    kind.__getitem__ = __getitem__
    kind.__contains__ = __contains__
    own.add(__getitem__.__code__.co_filename)
    atexit.register(finish)
    write({"use": "hello"})


def _next():
    # The sitecustomize that this one stands before.
    import importlib.machinery
    import importlib.util
    import sys

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _observe()
finally:
    _next()
