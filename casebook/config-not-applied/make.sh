#!/bin/sh
# The same site with the key that the builder can ask for.
set -e
cp -r site keyed
sed -i 's|<add key="role:define"|<add key="myproject.environment:define" value="none" />\n    &|' keyed/web.config
