#!/bin/sh
# A project of Node.js with its file of variables.
set -e
mkdir -p project
cp app.js project/
printf '{"name": "shop", "private": true}\n' > project/package.json
printf 'CLOUD_ACCOUNT=our-team\n' > project/.env
