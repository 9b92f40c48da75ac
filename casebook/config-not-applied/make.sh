#!/bin/sh
# A site, and the same with the key that the builder can ask for.
set -e
mkdir -p site/App_Config/Include
cp web.config site/
cp Sitecore.config site/App_Config/
cp Environment.config site/App_Config/Include/
cp -r site keyed
sed -i 's|<add key="role:define"|<add key="myproject.environment:define" value="none" />\n    &|' keyed/web.config
