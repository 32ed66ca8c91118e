// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/folder_server_child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace previrt {

namespace {

// The folder's place in the mount namespace. A directory that every machine has.
constexpr const char* place = "/tmp";

// Of this machine's kernel: the guest has its own.
struct KernelFiles {
    const char* place;
    __fsword_t type;
};
constexpr std::array kernel_files = {KernelFiles{.place = "/tmp/proc", .type = PROC_SUPER_MAGIC},
                                     KernelFiles{.place = "/tmp/sys", .type = SYSFS_MAGIC},
                                     KernelFiles{.place = "/tmp/dev", .type = TMPFS_MAGIC}};

class Child {
public:
    explicit Child(const FolderServerChild& child) : child_(child) {}

    [[noreturn]] void become() {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        leave_terminal();
        place_descriptors();
        enter_namespaces();
        mount_folder();
        raise_limit();
        char name[] = "virtiofsd";
        char socket[] = "--fd=3";
        char limit[] = "--rlimit-nofile=0"; // it would need a privilege to raise its limit itself
        char option[] = "-o";
        char source[] = "source=/tmp";
        char log[] = "log_level=err";
        char* const arguments[] = {name, socket, limit, option, source, option, log, nullptr};
        char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
        char preloaded[] = "LD_PRELOAD=/proc/self/fd/4";
        char* const environment[] = {path, preloaded, nullptr};
        execve(child_.program, arguments, environment);
        fail(FolderServerStep::program);
    }

private:
    enum Place : std::uint8_t { socket_place = 3, library_place, report_place, first_closed };

    [[noreturn]] void fail(FolderServerStep step) const {
        const FolderServerReport report{.failed = step, .error = errno};
        [[maybe_unused]] const ssize_t written = write(report_, &report, sizeof report);
        _exit(1);
    }
    void require(bool done, FolderServerStep step) const {
        if (!done) {
            fail(step);
        }
    }

    // A terminal's signals are for the monitor.
    static void leave_terminal() {
        setsid();
        for (int number = 1; number < NSIG; ++number) {
            signal(number, SIG_DFL);
        }
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
    }

    void place_descriptors() {
        const int socket = fcntl(child_.socket, F_DUPFD_CLOEXEC, int{first_closed});
        const int report = fcntl(child_.report, F_DUPFD_CLOEXEC, int{first_closed});
        const int messages = fcntl(child_.messages, F_DUPFD_CLOEXEC, int{first_closed});
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        const int library = open(child_.preloaded, O_RDONLY | O_CLOEXEC);
        const int library_apart = fcntl(library, F_DUPFD_CLOEXEC, int{first_closed});
        require(socket >= 0 && report >= 0 && messages >= 0 && nothing >= 0 && dup2(nothing, 0) == 0 &&
                    dup2(nothing, 1) == 1 && dup2(messages, 2) == 2 &&
                    dup2(socket, socket_place) == socket_place &&
                    dup2(library_apart, library_place) == library_place &&
                    dup3(report, report_place, O_CLOEXEC) == report_place,
                FolderServerStep::descriptors);
        report_ = report_place;
        closefrom(first_closed);
    }

    void write_file(const char* name, const char* text, std::size_t bytes) const {
        const int file = open(name, O_WRONLY | O_CLOEXEC);
        require(file >= 0 && write(file, text, bytes) == static_cast<ssize_t>(bytes),
                FolderServerStep::user_namespace);
        close(file);
    }

    // Without the privilege to mount, in a user namespace, in which this user is root.
    void enter_namespaces() {
        if (unshare(CLONE_NEWNS) == 0) {
            return;
        }
        const uid_t user = geteuid();
        const gid_t group = getegid();
        require(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, FolderServerStep::user_namespace);
        write_file("/proc/self/setgroups", "deny", 4);
        write_map("/proc/self/uid_map", user);
        write_map("/proc/self/gid_map", group);
    }
    void write_map(const char* name, unsigned id) const {
        std::array<char, 32> text{};
        const int bytes = snprintf(text.data(), text.size(), "0 %u 1", id);
        write_file(name, text.data(), static_cast<std::size_t>(bytes));
    }

    void mount_folder() const {
        require(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
                FolderServerStep::mount_namespace);
        require(mount(child_.folder, place, nullptr, MS_BIND | MS_REC, nullptr) == 0,
                FolderServerStep::folder);
        hide_kernel_files();
        if (child_.is_read_only) {
            mount_attr read_only{};
            read_only.attr_set = MOUNT_ATTR_RDONLY;
            require(syscall(SYS_mount_setattr, AT_FDCWD, place, AT_RECURSIVE, &read_only, sizeof read_only) ==
                        0,
                    FolderServerStep::read_only);
        }
    }

    // Only where a file system of the kernel is mounted: a folder may have directories of these names.
    void hide_kernel_files() const {
        struct statfs of_folder{};
        struct statfs found{};
        require(statfs(place, &of_folder) == 0, FolderServerStep::folder);
        for (const KernelFiles& files : kernel_files) {
            if (statfs(files.place, &found) == 0 && found.f_type == files.type &&
                std::memcmp(&found.f_fsid, &of_folder.f_fsid, sizeof found.f_fsid) != 0) {
                require(mount("none", files.place, "tmpfs", MS_RDONLY, "size=4k") == 0,
                        FolderServerStep::mount_namespace);
            }
        }
    }

    // It has a descriptor for each file that the guest knows.
    static void raise_limit() {
        constexpr rlim_t enough = rlim_t{1} << 20U; // as many as Linux permits any process
        rlimit limit{};
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
            const rlimit raised{.rlim_cur = enough, .rlim_max = enough};
            limit.rlim_cur = limit.rlim_max;
            if (limit.rlim_max >= enough || setrlimit(RLIMIT_NOFILE, &raised) != 0) {
                setrlimit(RLIMIT_NOFILE, &limit);
            }
        }
    }

    const FolderServerChild& child_;
    int report_ = child_.report;
};

} // namespace

void become_folder_server(const FolderServerChild& child) {
    Child(child).become();
}

} // namespace previrt
