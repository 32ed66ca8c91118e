#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Without the declarations of the system's headers, clang-tidy still finds the faults in our sources and headers.
set -euo pipefail
cd "$(dirname "$0")"
status=0
found=$(./clang-tidy-once --quiet faults.cpp -- clang++-19 -std=c++20 -c faults.cpp 2>&1) || status=$?
printf '%s\n' "$found"
[ "$status" -ne 0 ]
for fault in 'faults.hpp:[0-9]*:.*modernize-use-nullptr' 'faults.cpp:[0-9]*:.*readability-container-size-empty' \
    'faults.cpp:[0-9]*:.*readability-else-after-return'; do
    grep -q "$fault" <<<"$found" || { echo "FAILED: not found: $fault"; exit 1; }
done
