#!/bin/sh
# A guest that has nothing to do.
echo "idle: up"
while :; do
    sleep 1000
done
