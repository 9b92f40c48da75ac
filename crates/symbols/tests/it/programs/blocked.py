# Threads that are blocked in many ways. For each line on stdin, prints every thread's frames as
# Python itself sees them: a line `thread NUMBER`, then `NAME<tab>FILE<tab>LINE` a frame, outermost
# first, then `end`. Ends with stdin.
import asyncio
import sys
import threading

stop = threading.Event()
rows = []


def wait():
    stop.wait()


def first():
    second()


def second():
    third()


def third():
    wait()


def numbers():
    for number in range(10):
        if number == 3:
            wait()
        yield number


def in_a_generator():
    total = 0
    for number in numbers():
        total += number
    return total


def delegates():
    yield from numbers()


def in_two_generators():
    return sum(delegates())


def in_a_list():
    return [wait() for _ in range(3)]


lock = threading.Lock()
lock.acquire()


def in_a_lock():
    with lock:
        pass


class Orders:
    def __init__(self, parse=False):
        if parse:
            self.parse()

    def parse(self):
        def inner():
            wait()
        inner()

    @classmethod
    def all(cls):
        cls.check()

    @staticmethod
    def check():
        wait()

    @property
    def size(self):
        wait()
        return 3

    def __enter__(self):
        wait()

    def __exit__(self, *_):
        pass

    def __lt__(self, other):
        wait()
        return False


def in_a_class_method():
    Orders.all()


def in_a_constructor():
    Orders(
        parse=True,
    )


def in_a_property():
    return (
        1
        + Orders().size
    )


def in_a_context():
    with Orders():
        pass


def in_an_operator():
    return sorted([Orders(), Orders()])


def in_a_callback():
    sorted([1, 2], key=lambda number: wait() or number)


def deep(depth):
    if depth:
        return deep(depth - 1)
    wait()


def größe():
    wait()


def 蛇():
    größe()


def in_generated_code():
    exec("\n\nwait()\n")


async def inner_task():
    await asyncio.sleep(0)
    wait()


async def outer_task():
    await inner_task()


def in_a_task():
    asyncio.run(outer_task())


async def idle():
    await asyncio.gather(asyncio.sleep(1000), until_stopped())


async def until_stopped():
    while not stop.is_set():
        await asyncio.sleep(0.5)


def decorated(function):
    def wrapper(*arguments, **options):
        return function(*arguments, **options)
    return wrapper


@decorated
@decorated
def with_decorators():
    try:
        raise ValueError
    except ValueError:
        wait()


WAYS = [
    first,
    in_a_generator,
    in_two_generators,
    in_a_list,
    in_a_lock,
    in_a_class_method,
    in_a_constructor,
    in_a_property,
    in_a_context,
    in_an_operator,
    in_a_callback,
    lambda: deep(300),
    蛇,
    in_generated_code,
    in_a_task,
    with_decorators,
]


def frames(frame):
    found = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        found.append("%s\t%s\t%s" % (name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return reversed(found)


def show():
    numbers = {thread.ident: thread.native_id for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        print("thread", numbers[ident])
        for line in frames(frame):
            print(line)
    print("end", flush=True)


def listen():
    for _ in sys.stdin:
        show()
    stop.set()
    lock.release()


sys.stdout.reconfigure(encoding="utf-8")
threads = [threading.Thread(target=way) for way in WAYS + [listen]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
