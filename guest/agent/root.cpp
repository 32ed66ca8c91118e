// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/root.hpp"

#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"

namespace previrt::agent {

namespace {

struct FileSystem {
    const char* type;
    const char* place;
    long mode;
    const char* options;
};

constexpr FileSystem file_systems[] = {
    {.type = "devtmpfs", .place = "/dev", .mode = 0755, .options = nullptr},
    {.type = "devpts", .place = "/dev/pts", .mode = 0755, .options = "ptmxmode=666,mode=620,gid=5"},
    {.type = "tmpfs", .place = "/dev/shm", .mode = 01777, .options = "mode=1777"},
    {.type = "proc", .place = "/proc", .mode = 0555, .options = nullptr},
    {.type = "sysfs", .place = "/sys", .mode = 0555, .options = nullptr},
    {.type = "tmpfs", .place = "/tmp", .mode = 01777, .options = "mode=1777"},
};

struct Link {
    const char* target;
    const char* place;
};

constexpr Link links[] = {
    {.target = "/proc/self/fd", .place = "/dev/fd"},
    {.target = "/proc/self/fd/0", .place = "/dev/stdin"},
    {.target = "/proc/self/fd/1", .place = "/dev/stdout"},
    {.target = "/proc/self/fd/2", .place = "/dev/stderr"},
};

// Linux's ifreq.
struct Interface {
    char name[16];
    std::int16_t flags;
    char rest[22];
};
static_assert(sizeof(Interface) == 40);

void bring_up_loopback() {
    constexpr long family_inet = 2;
    constexpr long datagram = 2;
    constexpr long set_flags = 0x8914; // SIOCSIFFLAGS
    constexpr std::int16_t up = 1;
    const long socket = call(__NR_socket, family_inet, datagram, 0);
    const Interface loopback{.name = "lo", .flags = up, .rest = {}};
    call(__NR_ioctl, socket, set_flags, address_of(&loopback));
    call(__NR_close, socket);
}

} // namespace

// A kernel may lack some of these file systems. The command may do without them.
void prepare_root() {
    for (const FileSystem& system : file_systems) {
        call(__NR_mkdir, address_of(system.place), system.mode);
        call(__NR_mount, address_of("none"), address_of(system.place), address_of(system.type), 0,
             address_of(system.options));
    }
    for (const Link& link : links) {
        call(__NR_symlink, address_of(link.target), address_of(link.place));
    }
    bring_up_loopback();
    call(__NR_unlink, address_of(agent_path));
}

} // namespace previrt::agent
