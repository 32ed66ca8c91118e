#!/usr/bin/env bash
# posix.sh ON KERNEL-DIRECTORY PREVIRT
# pjdfstest, a test suite of POSIX file systems (crates.io), gives the verdicts of a folder of this machine on the same folder
# shared with a guest.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3
version=0.2.2
suite=$cache/pjdfstest-$version
mkdir -p "$cache"
exec {lock}>"$cache/pjdfstest.lock"
flock "$lock"
if [ ! -x "$suite/bin/pjdfstest" ]; then
    # --debug: built in half of the time. The tests wait for the file system, not for their own code.
    cargo install --quiet --locked --debug --root "$suite" --version "$version" pjdfstest
fi
exec {lock}>&-

folder=$work/folder
mkdir "$folder"
chmod 755 "$work" "$folder" # tests of other users' rights enter it
cat >"$folder/settings.toml" <<'END'
[features]
posix_fallocate = {}
rename_ctime = {}
stat_st_birthtime = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 0.02
[dummy_auth]
entries = [ ["nobody", "nogroup"], ["bin", "bin"], ["daemon", "daemon"] ]
END
tests=("$suite/bin/pjdfstest" -c "$folder/settings.toml" -s /dev/shm -p "$folder/here")

verdicts() { # NAME COMMAND ...
    local name=$1 status=0
    shift
    mkdir "$folder/here"
    "$@" </dev/null >"$work/said" 2>&1 || status=$?
    rm -r "$folder/here"
    sed -nE 's/^([a-z_0-9:]+) +(ok|FAILED|skipped)$/\1 \2/p' "$work/said" | LC_ALL=C sort >"$work/$name"
    echo "$name: status $status, $(grep -c ' ok$' "$work/$name") ok, $(tail -n 1 "$work/said")"
    [ "$status" -eq 0 ] || cat "$work/said"
}
verdicts host "${tests[@]}"
isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
verdicts guest "$previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}" --root / --share "$folder" -- "${tests[@]}"

# The test asks glibc for the limit of links. glibc tells it for the kinds of file systems that it knows, and virtiofs is none.
# The test then skips itself.
sed -i 's/^link::link_count_max ok$/link::link_count_max skipped/' "$work/host"
if ! diff "$work/host" "$work/guest" || [ "$(grep -c ' ok$' "$work/guest")" -lt 380 ]; then
    echo "posix: FAILED"
    exit 1
fi
