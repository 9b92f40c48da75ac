# Documents whose dates are all written in the same way are counted by their days.
#
#   general   the platform's parser reads them by a pattern
#   own       digits are read at their places
#
# Usage: dates.py general|own NUMBER
import datetime, sys

PATTERN = "%Y-%m-%dT%H:%M:%S.%f"


def read_general(text):
    return datetime.datetime.strptime(text, PATTERN)


def read_own(text):
    return datetime.datetime(
        int(text[0:4]), int(text[5:7]), int(text[8:10]),
        int(text[11:13]), int(text[14:16]), int(text[17:19]), int(text[20:26]),
    )


def main():
    read = read_own if sys.argv[1] == "own" else read_general
    number = int(sys.argv[2])
    texts = [
        "20%02d-%02d-%02dT%02d:%02d:%02d.%06d"
        % (n % 30, 1 + n % 12, 1 + n % 28, n % 24, n % 60, n % 59, n * 4321 % 1000000)
        for n in range(1000)
    ]
    days = [0] * 32
    for n in range(number):
        days[read(texts[n % 1000]).day] += 1
    assert sum(days) == number
    print(number, "dates,", days[1], "on first days")


main()
