#!/bin/sh
# The same start with the compiled pages kept: a page is compiled when its template or the
# compiler's options have changed since, which the name of the kept file tells.
# Usage: fixed.sh [PAGES]
set -eu
pages=${1:-4}
options=-O2
sum=$({ cat template.c; echo "$options"; } | cksum)
kept=kept-${sum%% *}
mkdir -p "$kept"

page=0
while [ "$page" -lt "$pages" ]; do
    page=$((page + 1))
    [ -f "$kept/page$page.o" ] || {
        cc "$options" -DPAGE="$page" -c template.c -o "$kept/page$page.o.$$"
        mv "$kept/page$page.o.$$" "$kept/page$page.o"
    }
done
echo "$pages pages at hand"
