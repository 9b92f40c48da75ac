#!/bin/sh
# The start of a service that compiles its page templates: each time, one after the other.
# Usage: guilty.sh [PAGES]
set -eu
pages=${1:-4}
folder=$(mktemp -d ./pages.XXXXXX)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

page=0
while [ "$page" -lt "$pages" ]; do
    page=$((page + 1))
    cc -O2 -DPAGE="$page" -c template.c -o "$folder/page$page.o"
done
echo "$pages pages compiled"
