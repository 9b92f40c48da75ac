#!/bin/sh
# Starts a service in a container that has no shell, no profiler and no network.
set -e
mkdir -p root
cc -O2 -g -static -fno-omit-frame-pointer -o root/service service.c
tar -cf image.tar -C root .
docker import image.tar culprit-case-profile
docker run -d --network none --name culprit-case-profile culprit-case-profile /service
