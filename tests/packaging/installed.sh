#!/usr/bin/env bash
# An installed previrt needs nothing of its source tree: installed.sh SOURCE-DIRECTORY BUILD-DIRECTORY
set -euo pipefail
source_directory=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$(dirname "${BASH_SOURCE[0]}")" "$work/tests"
cmake --install "$build" --prefix "$work/prefix" >"$work/log"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
unshare --mount "${as_root[@]}" "$work/tests/without-source-tree.sh" "$source_directory" "$work"
