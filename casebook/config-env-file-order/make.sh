#!/bin/sh
# The same project twice: the files of variables in both orders.
set -e
mkdir -p broken
cp compose.yaml web.env common.env broken/
cp -r broken mended
sed -i 's|\[web.env, common.env\]|[common.env, web.env]|' mended/compose.yaml
