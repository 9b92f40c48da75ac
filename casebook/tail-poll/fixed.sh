#!/bin/sh
# The same closed loop with the same rows, through a FIFO that is read by cat: the reader blocks in
# the kernel until a row is there, on whatever file system the FIFO lies. Usage: fixed.sh [ROWS]
set -eu
rows=${1:-8}
folder=$(mktemp -d ./tail-poll.XXXXXX)
follower=
trap 'test -z "$follower" || kill "$follower" 2>/dev/null || :; rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkfifo "$folder/rows" "$folder/seen"
cat "$folder/rows" > "$folder/seen" &
follower=$!
exec 3< "$folder/seen" 4> "$folder/rows"

row=0
while [ "$row" -lt "$rows" ]; do
    row=$((row + 1))
    sleep 0.05
    echo "row $row" >&4
    read -r seen <&3
    [ "$seen" = "row $row" ] || { echo "expected row $row, saw $seen" >&2; exit 1; }
done
echo "$rows rows through a FIFO read by cat"
