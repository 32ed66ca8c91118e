#!/usr/bin/env python3
"""data.py short|long DIRECTORY "PART ..." PREVIRT RUN-OPTION...: data of a guest's disk. Without a PART: all."""
import ctypes, os, pathlib, random, re, shutil, subprocess, sys, time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from verdicts import end_test, report

form, work, parts = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3].split()
run = sys.argv[4:]
here = pathlib.Path(__file__).resolve().parent
is_long = form == "long"
mib, gib = 1 << 20, 1 << 30
disk, device = work / "disk", "/dev/nvme0n1"
seed = int(os.environ.get("PREVIRT_SEED", time.time()))
chance = random.Random(seed)
os.environ["PATH"] += ":/usr/sbin:/sbin"

# A killed monitor's processes become children of this one, which waits for them: they have the disk until they end.
set_child_subreaper = 36
ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def command(script, *options):
    return [*run, "--root", "/", "--memory", "512M", "--disk", str(disk), *options, "--", "bash", "-ec", script]


def guest(script, *options):
    return subprocess.run(command(script, *options), capture_output=True, stdin=subprocess.DEVNULL, text=True,
                          timeout=20000 if is_long else 500)


def says_all(got):
    return f"status {got.returncode}\n{got.stdout[-2000:]}\n{got.stderr[-2000:]}"


def new_disk(size):
    disk.unlink(missing_ok=True)
    with open(disk, "wb") as file:
        file.truncate(size)


def verify_with_fio():
    """Each block says where it belongs: fio reads them again in the guest, and then here, out of the file."""
    sizes = ("4k", "16k", "128k", "1m") if is_long else ("4k", "1m")
    depths = (1, 4, 16, 64) if is_long else (1, 64)
    bytes_of_job = 64 * mib if is_long else 8 * mib
    new_disk(4 * bytes_of_job)
    print(f"seed {seed}")
    for way in ("write", "randwrite"):
        for size in sizes:
            depths_now = depths if is_long else depths[(size == "1m") ^ (way == "write"):][:1]
            for depth in depths_now:
                job = ["fio", "--name=data", "--numjobs=4", f"--size={bytes_of_job}", f"--offset_increment={bytes_of_job}",
                       f"--rw={way}", f"--bs={size}", "--verify=crc32c", "--verify_fatal=1", f"--randseed={seed + depth}",
                       "--thread", "--group_reporting", "--minimal"]
                in_guest = [*job, f"--filename={device}", "--direct=1", "--ioengine=libaio", f"--iodepth={depth}"]
                name = f"fio {way}, {size}, depth {depth}, 4 jobs"
                got = guest(" ".join(in_guest))
                report(name, got.returncode == 0, says_all(got))
                got = subprocess.run([*job, f"--filename={disk}", "--verify_only=1"], capture_output=True, text=True, cwd=work)
                report(name + ", in the file", got.returncode == 0, says_all(got))


def verify_without_io_uring():
    """Many containers have none: then threads of the monitor read and write the file."""
    global run
    with_io_uring, run = run, [here / "without_io_uring.py", *run]
    new_disk(mib)
    got = guest("true", "--verbose")
    report("there is no io_uring", got.returncode == 0 and "threads with pread and pwrite" in got.stderr, says_all(got))
    verify_with_fio()
    run = with_io_uring


checks = {"ext4": ["e2fsck", "-f", "-n"], "xfs": ["xfs_repair", "-n"], "btrfs": ["btrfs", "check", "--readonly"]}


def pass_through(system, kernel_has):
    """Files are copied onto a file system, read again after it was away, and found by this machine's own tools."""
    if system not in kernel_has or not shutil.which(f"mkfs.{system}"):
        missing = "this machine has no mkfs." if system in kernel_has else "this kernel has no "
        if is_long:
            report(system, False, missing + system)
        else:
            print(f"left out: {missing}{system}")
        return
    piece, count = (512 * mib, 20) if is_long else (8 * mib, 4)
    new_disk(piece * count * 5 // 4 + 512 * mib)
    share = work / "share"
    share.mkdir(exist_ok=True)
    with open(share / "piece", "wb") as file:
        for _ in range(piece // mib):
            file.write(chance.randbytes(mib))
    # Each copy begins with its number.
    got = guest(f"""mkfs.{system} -q {device} >/dev/null; mkdir /tmp/disk; mount -t {system} {device} /tmp/disk; cd /tmp/disk
        for i in $(seq {count}); do {{ echo $i; cat "{share}/piece"; }} >copy.$i; done
        mkdir tree; for i in $(seq 300); do echo $i >tree/$i; done; rm tree/*7
        sha256sum copy.* tree/* >/tmp/sums; cp /tmp/sums sums; cd /; umount /tmp/disk
        echo 3 >/proc/sys/vm/drop_caches
        mount -t {system} {device} /tmp/disk; cd /tmp/disk; cmp sums /tmp/sums; sha256sum -c --quiet sums; wc -l <sums
        for copy in copy.*; do tail -c {piece} $copy | cmp - "{share}/piece"; done; cd /; umount /tmp/disk""", "--share", f"{share},ro")
    report(f"{count * piece // mib} MiB through {system}", got.returncode == 0 and got.stdout == f"{count + 270}\n",
           says_all(got))
    got = subprocess.run([*checks[system], disk], capture_output=True, text=True)
    report(f"{system} is whole, says this machine", got.returncode == 0, says_all(got))
    place = work / "mounted"
    place.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-o", "loop,ro", disk, place], capture_output=True).returncode != 0:
        print(f"left out: this machine does not mount {system}")
        return
    try:
        got = subprocess.run(["sha256sum", "-c", "--quiet", "sums"], cwd=place, capture_output=True, text=True)
        report(f"{system} has all files, says this machine", got.returncode == 0, says_all(got))
    finally:
        subprocess.run(["umount", place], check=True)


def wait_for_children():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def be_killed(program, rounds):
    """SIGKILL, again and again, to a monitor whose guest commits. Each commit that it told of is there."""
    new_disk(512 * mib)
    acknowledged = {}
    committed = 0
    setup = f"mkfs.ext4 -q -E lazy_itable_init=0 {device}; "
    for number in range(rounds + 1):
        is_last = number == rounds
        script = (setup if number == 0 else "") + f"mkdir /tmp/disk; mount -t ext4 {device} /tmp/disk; " \
            f"exec python3 {here}/commits.py {program} /tmp/disk {'check' if is_last else 'commit'}"
        with subprocess.Popen(command(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as monitor:
            wanted = chance.randint(1, 60)
            found = {}
            got = []
            for line in monitor.stdout:
                got.append(line)
                if match := re.fullmatch(rb"found (\d+) (\d+)\n", line):
                    found[int(match[1])] = int(match[2])
                    continue
                wanted -= line.startswith(b"acknowledged ")
                if wanted == 0:
                    time.sleep(chance.random() * 0.05)
                    monitor.kill()
                    break
            got += monitor.stdout.readlines()
            errors = monitor.stderr.read().decode(errors="replace")
            status = monitor.wait()
        wait_for_children()
        lost = {client: (last, found.get(client)) for client, last in acknowledged.items() if found.get(client, -1) < last}
        if lost or status != (0 if is_last else -9):
            report(f"{program}: round {number} of {rounds}", False,
                   f"lost {lost}, status {status}, seed {seed}: {b''.join(got[-20:])} {errors[-2000:]}")
            return
        # The last line may be cut.
        for line in got:
            if match := re.fullmatch(rb"acknowledged (\d+) (\d+)\n", line):
                acknowledged[int(match[1])] = int(match[2])
                committed += 1
    report(f"{program}: killed {rounds} times, and each of {committed} commits is there", committed > 0)


def be_reset():
    """The driver resets the controller, and leaves it and comes back, while programs read and write."""
    new_disk(64 * mib)
    loops, rounds_now = (40, 200) if is_long else (1, 4)
    got = guest(f"""fio --name=data --numjobs=2 --size=32M --offset_increment=32M --rw=randwrite --bs=4k --verify=crc32c --verify_fatal=1 \
            --loops={loops} --thread --group_reporting --minimal --filename={device} --direct=1 --ioengine=libaio --iodepth=16 >/tmp/said &
        resets=0
        while kill -0 $! 2>/dev/null; do echo 1 >/sys/class/nvme/nvme0/reset_controller; resets=$((resets + 1)); sleep 0.05; done
        wait $! || {{ cat /tmp/said; exit 1; }}
        echo $resets""")
    report("a controller that is reset under load", got.returncode == 0 and int(got.stdout or 0) >= 3, says_all(got))
    print(f"resets: {got.stdout.strip()}")

    contents = chance.randbytes(16 * mib)
    disk.write_bytes(contents)
    # The data on the disk stay the same: the writers write what is there.
    got = guest(f"""cp {device} /tmp/copy; sum=$(sha256sum </tmp/copy)
        card=$(basename "$(readlink -f /sys/class/nvme/nvme0/device)"); cd /sys/bus/pci/drivers/nvme
        work() {{ until [ -e /tmp/stop ]; do [ ! -b {device} ] || "$@" 2>/dev/null || echo failed; done >/tmp/failed.$1; }}
        work dd if=/tmp/copy of={device} oflag=direct bs=64k conv=notrunc,nocreat &
        work cmp {device} /tmp/copy &
        for i in $(seq {rounds_now}); do
            sleep 0.2; echo $card >unbind; [ ! -b {device} ] || echo stayed; echo $card >bind
            for j in $(seq 200); do [ ! -b {device} ] || break; sleep 0.05; done
            [ "$(sha256sum <{device})" = "$sum" ] || echo changed after $i
        done
        touch /tmp/stop; wait; grep -q failed /tmp/failed.dd; echo done""")
    report("a driver that leaves and comes back under load", got.returncode == 0 and got.stdout == "done\n", says_all(got))
    report("the disk is as it was", disk.read_bytes() == contents)


def see_errors():
    """This machine's errors reach the guest, which goes on."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("left out: this user cannot mount a file system that fails")
        return
    place = work / "failing"
    place.mkdir()
    size, bad, length = 16 * mib, 5 * mib, 64 * 1024
    server = subprocess.Popen([here / "failing_file.py", place, str(size), str(bad), str(length)], stdout=subprocess.PIPE)
    server.stdout.readline()
    try:
        got = subprocess.run([*run, "--root", "/", "--disk", str(place / "file"), "--", "bash", "-c", f"""
            errors='Input/output error\\|No data available'
            block() {{ dd if={device} $2 bs=4k count=1 skip=$1 2>&1 >/dev/null | grep -o "$errors"; echo $1 ${{PIPESTATUS[0]}}; }}
            for i in 0 {bad // 4096 - 1} {bad // 4096} {(bad + length) // 4096 - 1} {(bad + length) // 4096}; do block $i iflag=direct; done
            block {bad // 4096}
            dd if=/dev/zero of={device} oflag=direct bs=4k count=1 2>/dev/null; echo written $?
            dd if=/dev/zero of={device} oflag=direct bs=4k count=1 seek={bad // 4096} 2>&1 | grep -o "$errors"
            dd if=/dev/zero of={device} oflag=direct bs=4k count=1 conv=fsync 2>&1 | grep -o 'fsync.*'
            block 0"""], capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=300)
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        server.kill()
        server.wait()
    # Linux's name for a medium's error, of an access that bypasses its page cache.
    direct, error = "No data available\n", "Input/output error\n"
    text = f"0 0\n{bad // 4096 - 1} 0\n" + "".join(f"{direct}{block // 4096} 1\n" for block in (bad, bad + length - 4096)) + \
        f"{(bad + length) // 4096} 0\n{error}{bad // 4096} 1\nwritten 0\n{direct}fsync failed for '{device}': {direct}0 0\n"
    report("errors of this machine's disk are the guest's", got.returncode == 0 and got.stdout == text, says_all(got))

    small = work / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24M", "none", small], capture_output=True).returncode != 0:
        print("left out: this user cannot mount a file system without room")
        return
    try:
        with open(small / "disk", "wb") as file:
            file.truncate(64 * mib)
        got = subprocess.run([*run, "--root", "/", "--disk", str(small / "disk"), "--", "bash", "-c", f"""
            mkfs.ext4 -q {device} && mkdir /tmp/disk && mount {device} /tmp/disk && echo kept >/tmp/disk/first && sync -f /tmp/disk
            dd if=/dev/zero of=/tmp/disk/full bs=1M count=40 conv=fsync 2>&1 | grep -o 'No space left on device\\|Input/output error' | head -n 1
            cat /tmp/disk/first; umount /tmp/disk; rm -f /tmp/x; true"""],
                             capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=300)
    finally:
        subprocess.run(["umount", "-l", small], check=True)
    report("a full file system of this machine is an error of the guest's",
           got.returncode == 0 and got.stdout in (f"{text}kept\n" for text in (error, "No space left on device\n")), says_all(got))


got = subprocess.run([*run, "--root", "/", "--", "cat", "/proc/filesystems"], capture_output=True, stdin=subprocess.DEVNULL, text=True)
kernel_has = got.stdout.split()
report("the kernel has ext4", "ext4" in kernel_has, says_all(got))
rounds = int(os.environ.get("PREVIRT_ROUNDS", 100 if is_long else 3))
programs = {"sqlite": rounds, "postgres": rounds} if is_long else {"sqlite": rounds}
if is_long and not shutil.which("postgres", path="/usr/lib/postgresql/15/bin"):
    report("postgres", False, "this machine has no postgresql-15")
    del programs["postgres"]
all_parts = {"fio": verify_with_fio, "fio-without-io_uring": verify_without_io_uring,
             **{system: lambda system=system: pass_through(system, kernel_has) for system in checks},
             **{program: lambda program=program: be_killed(program, programs[program]) for program in programs},
             "resets": be_reset, "errors": see_errors}
for part in parts or all_parts:
    started = time.monotonic()
    all_parts[part]()
    print(f"{part}: {time.monotonic() - started:.0f} s", flush=True)
end_test()
