#!/bin/sh
# A closed loop over a growing file: a row is appended when the previous one was seen.
#
#   writer --row--> file <--follow-- tail -F --row--> pipe --> writer
#
# The writer thinks for 50 ms before each row and then waits, blocked in a read, for the follower
# to show it; nothing here polls but perhaps the follower. Usage: guilty.sh [ROWS]
set -eu
rows=${1:-8}
folder=$(mktemp -d ./tail-poll.XXXXXX)
follower=
trap 'test -z "$follower" || kill "$follower" 2>/dev/null || :; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

: > "$folder/rows"
mkfifo "$folder/seen"
tail -n +1 -F "$folder/rows" > "$folder/seen" 2>/dev/null &
follower=$!
exec 3< "$folder/seen"

row=0
while [ "$row" -lt "$rows" ]; do
    row=$((row + 1))
    sleep 0.05
    echo "row $row" >> "$folder/rows"
    read -r seen <&3
    [ "$seen" = "row $row" ] || { echo "expected row $row, saw $seen" >&2; exit 1; }
done
echo "$rows rows followed through a file by tail -F"
