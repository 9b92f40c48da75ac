#!/bin/sh
# Makes two images of the same files from a base of our own; nothing is fetched.
set -e
mkdir -p base/cache base/data
cc -O2 -static -o base/rm rm.c
head -c 8000000 /dev/urandom > base/cache/packages
head -c 12000000 /dev/urandom > table
tar -cf base.tar -C base .
docker import base.tar culprit-case-layers:base

mkdir -p guilty fixed lean
cp table guilty/table
cat > guilty/Dockerfile <<'END'
FROM culprit-case-layers:base
COPY table /data/table
RUN ["/rm", "/cache/packages"]
COPY --chown=7:7 table /data/table
END
DOCKER_BUILDKIT=0 docker build --network none -t culprit-case-layers:guilty guilty

# The same without the cache, and with the owner from the beginning.
mv table fixed/table
cp base/rm lean/rm
tar -cf lean.tar -C lean .
docker import lean.tar culprit-case-layers:base
cat > fixed/Dockerfile <<'END'
FROM culprit-case-layers:base
COPY --chown=7:7 table /data/table
END
DOCKER_BUILDKIT=0 docker build --network none -t culprit-case-layers:fixed fixed
