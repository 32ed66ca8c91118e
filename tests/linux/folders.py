#!/usr/bin/env python3
"""folders.py DIRECTORY PREVIRT RUN-OPTION...: folders of this machine in a guest."""
import ctypes, hashlib, json, os, pathlib, random, shutil, subprocess, sys, time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from verdicts import end_test, report

work = pathlib.Path(sys.argv[1])
run = sys.argv[2:]


def guest(script, *options, root=None, timeout=120):
    return subprocess.run([*run, "--root", str(root or small), *options, "--", "sh", "-ec", script],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout)


def says(name, script, text, *options, status=0, **how):
    got = guest(script, *options, **how)
    report(name, got.returncode == status and got.stdout.decode(errors="replace") == text, f"{got}")


def refused(name, *options, text):
    got = subprocess.run([*run, *options], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    report(name, got.returncode in (2, 125) and text in got.stderr.decode(), f"{got}")


def contents(directory):
    """Of all files beneath: names, kinds, modes, bytes, times."""
    found = {}
    for path in [directory, *directory.rglob("*")]:
        state = path.lstat()
        data = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path)] = (state.st_mode, state.st_mtime_ns, state.st_nlink, data)
    return found


# A small root: busybox, and a first process of its own.
small = work / "root"
for name in ("bin", "sbin", "dev", "proc", "sys", "tmp", "etc", "usr/bin"):
    (small / name).mkdir(parents=True)
shutil.copy(shutil.which("busybox"), small / "bin/busybox")
for applet in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
    if applet != "busybox":
        (small / "bin" / applet).symlink_to("busybox")
(small / "etc/file").write_text("of this machine\n")
init = small / "sbin/init"
init.write_text("#!/bin/sh\nexport PATH=/bin\necho first: $$ $# $1, root: $(cat /etc/file)\npoweroff -f\n")
init.chmod(0o755)
share = work / "a share"
share.mkdir()

before = contents(small)
if run[run.index("--on") + 1] == "bare":
    # Here a guest has no command: the root's own first process does the work.
    def boots(name, script, text, *options):
        init.write_text("#!/bin/sh\nexport PATH=/bin\n" + script + "\npoweroff -f\n")
        before = contents(small)
        got = subprocess.run([*run, "--root", str(small), *options, "--append", "quiet"], capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=300)
        report(name, got.returncode == 0 and text in got.stdout.decode().replace("\r", "") and
               ("--rw" in options or contents(small) == before), f"{got}")

    (share / "big").write_bytes(random.Random(1).randbytes(8 << 20))
    boots("a root with an overlay", "echo changed >/etc/file; cat /etc/file; mkdir /new; ls -d /new", "changed\n/new\n")
    boots("a root that is written", f'cd "{share}"; sha256sum <big; cat big >copy; echo new >/etc/written; sync',
          hashlib.sha256((share / "big").read_bytes()).hexdigest(), "--rw", "--share", f"{share}:tag")
    report("what it has written is on this machine", (small / "etc/written").read_text() == "new\n" and
           (share / "copy").read_bytes() == (share / "big").read_bytes())
    end_test()
says("a root with an overlay", "cat /etc/file; echo changed >/etc/file; rm -r /usr; mkdir /usr /new; cat /etc/file; ls -d /new",
     "of this machine\nchanged\n/new\n")
report("the overlay keeps the folder as it is", contents(small) == before)
got = guest("mount -o remount,rw /.previrt/folder 2>/dev/null || true; mkdir /under; mount -t virtiofs previrt-root /under; "
            "cat /under/etc/file; touch /under/new")
report("a guest cannot write to a folder that is read only",
       got.returncode != 0 and got.stdout == b"of this machine\n" and b"Read-only file system" in got.stderr and
       contents(small) == before, f"{got}")

says("a root that is written", "echo new >/etc/written; ln -s file /etc/link; mkdir -m 750 /etc/dir; chmod 4755 /etc/written; "
     "ln /etc/written /etc/second; mv /etc/dir /etc/moved", "", "--rw")
written = small / "etc/written"
report("what it has written is on this machine",
       written.read_text() == "new\n" and written.stat().st_mode == 0o104755 and written.stat().st_nlink == 2 and
       os.readlink(small / "etc/link") == "file" and (small / "etc/moved").stat().st_mode == 0o40750)

got = subprocess.run([*run, "--root", str(small), "--append", "quiet some=thing word"], capture_output=True,
                     stdin=subprocess.DEVNULL, timeout=120)
report("the root's own first process", got.returncode == 0 and b"first: 1 1 word, root: of this machine" in got.stdout, f"{got}")
got = subprocess.run([*run, "--root", str(small), "--append", "quiet init=/bin/nothing"], capture_output=True,
                     stdin=subprocess.DEVNULL, timeout=120)
report("a first process that is not there", b"the root has no program that can be its first process" in got.stdout, f"{got}")

# A folder at the place that it has on this machine.
option = ["--share", f"{share}:tag"]
big = random.Random(1).randbytes(24 << 20)
(share / "big").write_bytes(big)
digest = hashlib.sha256(big).hexdigest()
got = guest(f'cd "{share}"; sha256sum <big; cat big >copy; dd if=big of=pieces bs=4093 2>/dev/null; sync; rm big; '
            "dd if=/dev/urandom of=synced bs=4k count=50 conv=fsync 2>/dev/null; sha256sum <synced", *option)
report("bytes pass unchanged", got.returncode == 0 and got.stdout.decode().startswith(digest) and
       (share / "copy").read_bytes() == big and (share / "pieces").read_bytes() == big and not (share / "big").exists() and
       hashlib.sha256((share / "synced").read_bytes()).hexdigest() in got.stdout.decode(), f"{got}")
for name in ("copy", "pieces", "synced"):
    (share / name).unlink()

odd = ["line\nbreak", "x" * 255, "space ", "-dash", "\udcff\udcfe", "ütf"]
for name in odd:
    (share / name).write_bytes(os.fsencode(name))
got = guest(f'cd "{share}"; n=0; for f in *; do test "$(cat "./$f"; echo .)" = "$f." && n=$((n+1)); done; echo $n; rm -- ./*',
            *option)
report("any name", got.stdout == b"%d\n" % len(odd) and not list(share.iterdir()), f"{got}")

says("many files", f'cd "{share}"; mkdir m; i=0; while [ $i -lt 3000 ]; do echo $i >m/$i; i=$((i+1)); done; ls m | wc -l; '
     "cat m/* | md5sum; rm -r m; ls -A | wc -l",
     "3000\n" + hashlib.md5("".join(f"{i}\n" for i in sorted(map(str, range(3000)))).encode()).hexdigest() + "  -\n0\n", *option)
# A page of a directory has its files' attributes: no file is asked for by itself.
for number in range(1000):
    (share / f"f{number}").touch()
stats = work / "stats"
says("attributes of many files", f'ls -l "{share}" | wc -l', "1001\n", *option, "--stats", str(stats))
calls = json.loads(stats.read_text())["folder_calls"]
report("by few requests", 0 < calls < 500, f"{calls} calls")
for number in range(1000):
    (share / f"f{number}").unlink()
says("another tag, read only", f'! touch "{share}/x" 2>/dev/null; ls -A "{share}"', "", "--share", f"{share},ro")

# The driver leaves the device and comes back while others use theirs.
other = work / "other"
other.mkdir()
says("the driver comes and goes under load",
     f"""cd "{share}"
( i=0; while [ $i -lt 60 ]; do dd if=/dev/zero of=load bs=64k count=16 2>/dev/null; i=$((i+1)); done; echo >loaded ) &
umount "{other}"
device=$(ls -d /sys/bus/virtio/drivers/virtiofs/virtio* | tail -n 1); device=${{device##*/}}
i=0; while [ $i -lt 30 ]; do
    echo $device >/sys/bus/virtio/drivers/virtiofs/unbind
    echo $device >/sys/bus/virtio/drivers/virtiofs/bind
    mount -t virtiofs other "{other}"
    echo $i >>"{other}/rounds"
    umount "{other}"
    i=$((i+1))
done
wait; cat loaded; rm load loaded; echo over""", "\nover\n", *option, "--share", f"{other}")
rounds = other / "rounds"
report("each time it writes", rounds.exists() and rounds.read_text() == "".join(f"{i}\n" for i in range(30)))

# A device loses its driver in the middle of its own requests, once by the driver of virtio and once by that of PCI.
says("drivers leave devices that are in use",
     f"""cd /sys/bus
card_of() {{ card=$(readlink -f $(ls -d virtio/drivers/$1/virtio* | tail -n 1)/..); echo ${{card##*/}}; }}
folder=$(card_of virtiofs); memory=$(card_of virtio_balloon)
( until [ -e /tmp/stop ]; do dd if=/dev/zero of=/tmp/load bs=1M count=60 2>/dev/null; rm -f /tmp/load; done ) & hog=$!
i=0; while [ $i -lt 10 ]; do
    ( while dd if=/dev/zero of="{other}/load" bs=64k count=16 2>/dev/null; do :; done ) &
    sleep 0.1
    if [ $((i % 2)) = 0 ]; then
        set -- pci/drivers/virtio-pci $folder pci/drivers/virtio-pci $memory
    else
        # Devices of virtio have new names after each time.
        set -- virtio/drivers/virtiofs $(ls pci/devices/$folder | grep '^virtio[0-9]') \
            virtio/drivers/virtio_balloon $(ls pci/devices/$memory | grep '^virtio[0-9]')
    fi
    echo $2 >$1/unbind; echo $4 >$3/unbind
    wait $!; umount "{other}"
    echo $2 >$1/bind; echo $4 >$3/bind
    mount -t virtiofs other "{other}"
    echo $i; echo $i >>"{other}/again"
    i=$((i+1))
done
touch /tmp/stop; wait $hog; cat "{other}/again" """, "".join(f"{i}\n" for i in range(10)) * 2, *option, "--share", f"{other}")

# Errors of this machine.
(share / "secret").write_text("x")
os.symlink("/etc/hostname", share / "outside")
os.symlink("../../../../../../etc/hostname", share / "above")
got = guest(f'cd "{share}"; ls -l outside above >/dev/null; cat outside above secret', *option)
report("links lead to the guest's own files", got.stderr.count(b"No such file") == 2 and got.stdout == b"x", f"{got}")

refused("a folder that is not there", "--root", "/no/such/folder", text="/no/such/folder: No such file or directory")
refused("a file is no folder", "--root", str(init), text="it is no folder")
refused("two of one tag", "--root", str(small), "--share", str(share) + ":a", "--share", str(other) + ":a", text="has the tag 'a' already")
refused("a tag that is too long", "--root", str(small), "--share", f"{share}:{'t' * 37}", text="a tag has 1 to 36")
refused("too many", "--root", str(small), *[x for i in range(4) for x in ("--share", f"{share}:{i}")], text="4 folders at most")
refused("--rw without a root", "--rw", text="--rw: that is for the folder of --root")
elsewhere = [*run[:run.index("--on")], "--on", "xen"]
got = subprocess.run([*elsewhere, "--root", str(small)], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
report("no place for it", got.returncode == 2 and b"has no folders so far" in got.stderr, f"{got}")

# A server that ends.
with subprocess.Popen([*run, "--root", str(small), "--", "sh", "-c", "echo ready; while :; do ls -lR / >/dev/null; done"],
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
    process.stdout.readline()
    servers = [pid for pid in filter(str.isdigit, os.listdir("/proc"))
               if pathlib.Path(f"/proc/{pid}/comm").exists() and
               pathlib.Path(f"/proc/{pid}/comm").read_text() == "virtiofsd\n" and
               pathlib.Path(f"/proc/{pid}/stat").read_text().split()[3] == open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0]]
    for pid in servers:
        os.kill(int(pid), 9)
    text = process.stderr.read().decode()
    report("a server that ends", process.wait(30) == 125 and f"{small}: the server of this folder has ended" in text, text)

# Nothing is left: what outlives its parent becomes a child of this process.
set_child_subreaper = 36
ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
wrong = 0
started = time.monotonic()
runs = 20
for number in range(runs):
    got = guest('echo $((6 * 7)); exit 7')
    wrong += (got.stdout, got.stderr, got.returncode) != (b"42\n", b"", 7)
with subprocess.Popen([*run, "--root", str(small), "--", "sleep", "100"], stdin=subprocess.DEVNULL) as process:
    time.sleep(1)
    process.kill()
print(f"{runs} runs took {(time.monotonic() - started) / runs:.3f} s each")
for _ in range(100):
    left = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    left = [pid for pid in left if os.waitpid(int(pid), os.WNOHANG)[0] == 0]
    if not left:
        break
    time.sleep(0.1)
report("nothing is left", wrong == 0 and not left, f"{wrong} wrong; left: {left}")
end_test()
