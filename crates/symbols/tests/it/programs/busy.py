# Threads that never rest. Each call stands alone on its line with `calls NAME` behind it, so that a
# stack that Python never had can be told from one that it had. Prints its threads' numbers, then
# runs until stdin ends.
import sys
import threading

running = True


def leaf(number):
    return number * 3 + 1


def left(number):
    number += 1
    number = leaf(number)  # calls leaf
    number += 1
    return number


def right(number):
    number = leaf(number)  # calls leaf
    for other in generator(number):  # calls generator
        number += other
    number = left(number)  # calls left
    return number


def generator(number):
    yield number
    number = leaf(number)  # calls leaf
    yield number


def deep(depth, number):
    if depth == 0:
        return leaf(number)  # calls leaf
    number = left(number)  # calls left
    number = deep(depth - 1, number)  # calls deep
    return right(number)  # calls right


def by_c(number):
    number = max(number, 3, key=leaf)  # calls leaf
    return number


class Made:
    def __init__(self, number):
        self.number = leaf(number)  # calls leaf


def made(number):
    thing = Made(number)  # calls __init__
    return thing.number


def root():
    number = 0
    while running:
        number = left(number)  # calls left
        number = right(number)  # calls right
        number = deep(12, number)  # calls deep
        number = by_c(number)  # calls by_c
        number = made(number)  # calls made
        number %= 1000


SOURCE = "def fleeting%d(number):\n%s return number + 1\n"


def fleeting():
    # Functions that are freed and made anew, mostly where others were.
    number = 0
    while running:
        number += 1
        names = {}
        exec(SOURCE % (number % 97, "\n" * (number % 97)), names)  # calls <module>
        function = names["fleeting%d" % (number % 97)]
        for _ in range(20):
            function(1)  # calls fleeting


threads = [threading.Thread(target=way) for way in [root, root, fleeting]]
for thread in threads:
    thread.start()
print(*[thread.native_id for thread in threads], flush=True)
sys.stdin.read()
running = False
