"""A fixed number of orders: `orders.py cpu|mixed COUNT FILE PIECE`.

Each language has this program: `cpu` works, `mixed` also reads the file and sleeps 1 ms after every 250 orders. It
prints a line after each piece of so many orders.
"""

import sys
import time

LINES = [",".join(str(line * 37 + part * 11) for part in range(20)) for line in range(64)]


def parse(line):
    return [int(part) for part in line.split(",")]


def price(parts):
    total = 0
    for part in parts:
        total = (total * 31 + part) % 1000003
    return total


def handle(number, totals):
    key = price(parse(LINES[number % 64])) % 997
    totals[key] = totals.get(key, 0) + 1


def handle_all(first, count, totals):
    for number in range(first, first + count):
        handle(number, totals)


def mix(begin, count, path, totals):
    for first in range(begin, begin + count, 250):
        handle_all(first, 250, totals)
        with open(path, "rb") as file:
            file.read()
        time.sleep(0.001)


def main(part, count, path, piece):
    totals = {}
    for first in range(0, count, piece):
        if part == "cpu":
            handle_all(first, piece, totals)
        else:
            mix(first, piece, path, totals)
        print(len(totals), flush=True)


main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
