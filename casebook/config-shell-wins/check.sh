#!/bin/sh
# check.sh ACCOUNT [VARIABLES]: fails unless Node.js itself uses this account.
set -e
wanted=$1
shift
used=$(cd project && env "$@" node --env-file=.env app.js)
[ "$used" = "$wanted" ] || { echo "node uses $used, not $wanted" >&2; exit 1; }
