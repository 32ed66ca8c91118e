// SPDX-License-Identifier: BSD-2-Clause
// Comes between qemu-storage-daemon and the C library. Before the program's first instruction it takes away
// what an image could misuse: names of files, sockets, other programs and other processes. The images that it
// serves are open already: it finds them by the names /image/NUMBER, each of them once.
#include "host/call_filter.hpp"
#include "host/input_error.hpp"

#include <array>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <initializer_list>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

constexpr int most_descriptors = 256;
constexpr std::string_view directory = "/image/";

// Not opened yet.
std::bitset<most_descriptors>& images() {
    static std::bitset<most_descriptors> numbers;
    return numbers;
}

// The whole text, and not more.
int number_of(std::string_view text) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number < most_descriptors ? number
                                                                                                 : -1;
}

// The numbers of PREVIRT_IMAGES, with a colon behind each.
void find_images() {
    const char* const variable = std::getenv("PREVIRT_IMAGES"); // NOLINT(concurrency-mt-unsafe): one thread
    std::string_view text(variable == nullptr ? "" : variable);
    while (!text.empty()) {
        const std::size_t end = text.find(':');
        const int number = number_of(text.substr(0, end));
        if (number >= 0) {
            images().set(static_cast<std::size_t>(number));
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

void allow_threads(CallFilter& filter) {
    filter.allow(SCMP_SYS(clone), {CallFilter::has(0, CLONE_VM | CLONE_THREAD)});
    filter.refuse(SCMP_SYS(clone3), ENOSYS); // its flags are in memory; glibc then uses clone
    for (const int option : {PR_SET_NAME, PR_SET_TIMERSLACK}) {
        filter.allow(SCMP_SYS(prctl), {CallFilter::equals_int(0, option)});
    }
    filter.allow({SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(membarrier),
                  SCMP_SYS(sched_getaffinity), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigtimedwait),
                  SCMP_SYS(signalfd4), SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_getres), SCMP_SYS(getrandom),
                  SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(uname),
                  SCMP_SYS(sysinfo)});
}

void allow_descriptors(CallFilter& filter) {
    filter.allow({SCMP_SYS(read),        SCMP_SYS(readv),         SCMP_SYS(write),      SCMP_SYS(writev),
                  SCMP_SYS(close),       SCMP_SYS(dup),           SCMP_SYS(fcntl),      SCMP_SYS(poll),
                  SCMP_SYS(ppoll),       SCMP_SYS(epoll_ctl),     SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
                  SCMP_SYS(eventfd2),    SCMP_SYS(epoll_create1), SCMP_SYS(pipe2),      SCMP_SYS(sendmsg),
                  SCMP_SYS(recvmsg),     SCMP_SYS(sendto),        SCMP_SYS(recvfrom),   SCMP_SYS(accept),
                  SCMP_SYS(accept4),     SCMP_SYS(listen),        SCMP_SYS(shutdown),   SCMP_SYS(getsockname),
                  SCMP_SYS(getpeername), SCMP_SYS(getsockopt),    SCMP_SYS(setsockopt)});
}

void allow_images(CallFilter& filter) {
    filter.allow({SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(preadv), SCMP_SYS(pwritev), SCMP_SYS(fsync),
                  SCMP_SYS(fdatasync), SCMP_SYS(fallocate), SCMP_SYS(ftruncate), SCMP_SYS(lseek),
                  SCMP_SYS(fstatfs)});
    // Of a block device.
    for (const std::uint64_t request : std::initializer_list<std::uint64_t>{
             BLKGETSIZE64, BLKSSZGET, BLKPBSZGET, BLKIOMIN, BLKROTATIONAL, BLKDISCARD, BLKZEROOUT}) {
        filter.allow(SCMP_SYS(ioctl), {CallFilter::equals(1, request)});
    }
}

// The daemon ends when its monitor is killed, as if it were asked to: every write that it has answered is in
// the image then. Only the monitor reads the daemon's messages, and Linux tells the daemon when that reader
// has gone. A signal at the parent's death would need the right to send it, which the monitor has given up.
void end_with_monitor() {
    std::thread([] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        pollfd messages{.fd = STDERR_FILENO, .events = 0, .revents = 0};
        while (poll(&messages, 1, -1) != 1) {
        }
        syscall(SYS_tgkill, getpid(), getpid(), SIGTERM);
    }).detach();
    prctl(PR_SET_PDEATHSIG, 0); // it was SIGKILL until here
}

[[gnu::constructor]] void confine() {
    try {
        find_images();
        CallFilter filter(CallFilter::Other::fails);
        allow_threads(filter);
        allow_descriptors(filter);
        allow_images(filter);
        std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error of a call
        end_with_monitor();
        filter.apply_to_all_threads();
    } catch (const std::exception& error) {
        constexpr std::string_view line_end = "\n";
        const std::string_view text = error.what();
        [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
        written = write(STDERR_FILENO, line_end.data(), line_end.size());
        _exit(1);
    }
}

} // namespace

} // namespace previrt

// The name is the C library's. NOLINTBEGIN
extern "C" int open64(const char* path, int flags, ...) {
    using namespace previrt;
    std::string_view name(path);
    if (name.starts_with(directory)) {
        name.remove_prefix(directory.size());
        const int number = number_of(name);
        if (number < 0 || !images().test(static_cast<std::size_t>(number))) {
            errno = EACCES;
            return -1;
        }
        images().reset(static_cast<std::size_t>(number));
        fcntl(number, F_SETFD, (flags & O_CLOEXEC) != 0 ? FD_CLOEXEC : 0);
        return number;
    }
    if (name == "/dev/null") { // on which it tries locks; standard input is the same
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    }
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = static_cast<mode_t>((flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0);
    va_end(arguments);
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
// NOLINTEND
