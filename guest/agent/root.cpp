// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/root.hpp"

#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"

#include <asm-generic/fcntl.h>

namespace previrt::agent {

namespace {

constexpr long current_directory = -100; // AT_FDCWD
constexpr std::size_t path_bytes = 4096; // Linux's own bound
constexpr std::size_t command_line_bytes = 4096;
constexpr const char* no_folders =
    "previrt: this kernel cannot mount the folder: it needs CONFIG_FUSE_FS=y and CONFIG_VIRTIO_FS=y\n";
constexpr const char* no_overlay =
    "previrt: this kernel cannot keep the guest's changes of the folder in memory: it needs "
    "CONFIG_OVERLAY_FS=y and CONFIG_TMPFS_XATTR=y; or let it write to the folder (--rw)\n";

long mount(const char* source, const char* place, const char* type, long flags, const char* options) {
    return call(__NR_mount, address_of(source), address_of(place), address_of(type), flags,
                address_of(options));
}

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

// Of an answer by DHCP, which Linux itself has asked for (ip=dhcp). Without one, the file begins otherwise.
void use_name_server() {
    constexpr long bind = 4096;
    const char* const answer = "/proc/net/pnp";
    const long file = call(__NR_openat, current_directory, address_of(answer), O_RDONLY);
    char start[2] = {};
    const long got = call(__NR_read, file, address_of(start), sizeof start);
    call(__NR_close, file);
    if (got == sizeof start && start[1] == 'P') {
        mount(answer, "/etc/resolv.conf", nullptr, bind, nullptr);
    }
}

char folders[most_folders_bytes];

struct Folder {
    FolderUse use;
    const char* tag;
    const char* place;
};

// Calls `action` for each folder of the list until one call returns a message, and returns that.
template <typename Action>
const char* for_each_folder(const Action& action) {
    const char* next = folders;
    const char* message = nullptr;
    while (*next != '\0' && message == nullptr) {
        const FolderUse use{*next++};
        const char* const tag = next;
        next += length_of(next) + 1;
        const char* const place = next;
        next += length_of(next) + 1;
        message = action(Folder{.use = use, .tag = tag, .place = place});
    }
    return message;
}

// The last byte stays zero.
void read_folders() {
    const long file = call(__NR_openat, current_directory, address_of(folders_path), O_RDONLY);
    std::size_t bytes = 0;
    long got = 0;
    do {
        bytes += static_cast<std::size_t>(got);
        got = call(__NR_read, file, address_of(folders + bytes),
                   static_cast<long>(most_folders_bytes - 1 - bytes));
    } while (got > 0);
    call(__NR_close, file);
    call(__NR_unlink, address_of(folders_path));
    call(__NR_unlink, address_of(agent_path));
}

constexpr long mount_read_only = 1;
constexpr long mount_move = 8192;

void make_directory(const char* path) {
    call(__NR_mkdir, address_of(path), 0755);
}

const char* mount_root(const Folder& folder) {
    make_directory("/.previrt");
    make_directory(container_root);
    if (folder.use == FolderUse::root || folder.use == FolderUse::container) {
        return mount(folder.tag, container_root, "virtiofs", 0, nullptr) == 0 ? nullptr : no_folders;
    }
    make_directory("/.previrt/folder");
    make_directory("/.previrt/memory");
    if (mount(folder.tag, "/.previrt/folder", "virtiofs", mount_read_only, nullptr) != 0) {
        return no_folders;
    }
    mount("none", "/.previrt/memory", "tmpfs", 0, "mode=755");
    make_directory("/.previrt/memory/upper");
    make_directory("/.previrt/memory/work");
    return mount("none", container_root, "overlay", 0,
                 "lowerdir=/.previrt/folder,upperdir=/.previrt/memory/upper,workdir=/.previrt/memory/work") ==
                   0
               ? nullptr
               : no_overlay;
}

const char* change_root(const Folder& folder) {
    if (folder.use == FolderUse::container) {
        return mount_root(folder);
    }
    if (folder.use != FolderUse::root && folder.use != FolderUse::overlaid_root) {
        return nullptr;
    }
    if (const char* const message = mount_root(folder)) {
        return message;
    }
    return call(__NR_chdir, address_of(container_root)) == 0 &&
                   mount(".", "/", nullptr, mount_move, nullptr) == 0 &&
                   call(__NR_chroot, address_of(".")) == 0 && call(__NR_chdir, address_of("/")) == 0
               ? nullptr
               : "previrt: Linux does not change to the root of the folder\n";
}

// Also the directories in which it lies.
void make_directories(const char* path) {
    char part[path_bytes];
    std::size_t at = 0;
    for (; path[at] != '\0' && at + 1 < path_bytes; ++at) {
        part[at] = path[at];
        part[at + 1] = '\0';
        if (path[at + 1] == '/' || path[at + 1] == '\0') {
            make_directory(part);
        }
    }
}

bool begins_with(const char* text, const char* start) {
    while (*start != '\0' && *text == *start) {
        ++text;
        ++start;
    }
    return *start == '\0';
}

// The text behind the last "init=" of the kernel's command line; "": there is none.
const char* chosen_init() {
    static char line[command_line_bytes];
    const long file = call(__NR_openat, current_directory, address_of("/proc/cmdline"), O_RDONLY);
    const long bytes = call(__NR_read, file, address_of(line), command_line_bytes - 1);
    call(__NR_close, file);
    const char* found = "";
    bool begins = true; // a word
    for (long at = 0; at < bytes; ++at) {
        const bool is_between = line[at] == ' ' || line[at] == '\n';
        if (is_between) {
            line[at] = '\0';
        } else if (begins && begins_with(line + at, "init=")) {
            found = line + at + length_of("init=");
        }
        begins = is_between;
    }
    return found;
}

} // namespace

const char* enter_root() {
    read_folders();
    return for_each_folder(change_root);
}

bool is_without_command() {
    return for_each_folder([](const Folder& folder) {
               return folder.use == FolderUse::no_command ? "it is" : nullptr;
           }) != nullptr;
}

const char* mount_folders() {
    return for_each_folder([](const Folder& folder) -> const char* {
        if (folder.use != FolderUse::writable && folder.use != FolderUse::read_only) {
            return nullptr;
        }
        make_directories(folder.place);
        const long flags = folder.use == FolderUse::read_only ? mount_read_only : 0;
        return mount(folder.tag, folder.place, "virtiofs", flags, nullptr) == 0 ? nullptr : no_folders;
    });
}

void become_init(char** arguments, char** environment) {
    mount("none", "/dev", "devtmpfs", 0, nullptr);
    mount("none", "/proc", "proc", 0, nullptr);
    const char* const chosen = chosen_init();
    const char* const files[] = {"/sbin/init", "/etc/init", "/bin/init", "/bin/sh"};
    if (*chosen != '\0') {
        arguments[0] = const_cast<char*>(chosen);
        call(__NR_execve, address_of(chosen), address_of(static_cast<const void*>(arguments)),
             address_of(static_cast<const void*>(environment)));
        return;
    }
    for (const char* const file : files) {
        arguments[0] = const_cast<char*>(file);
        call(__NR_execve, address_of(file), address_of(static_cast<const void*>(arguments)),
             address_of(static_cast<const void*>(environment)));
    }
}

// A kernel may lack some of these file systems. The command may do without them.
void prepare_root() {
    for (const FileSystem& system : file_systems) {
        call(__NR_mkdir, address_of(system.place), system.mode);
        mount("none", system.place, system.type, 0, system.options);
    }
    for (const Link& link : links) {
        call(__NR_symlink, address_of(link.target), address_of(link.place));
    }
    bring_up_loopback();
    use_name_server();
}

} // namespace previrt::agent
