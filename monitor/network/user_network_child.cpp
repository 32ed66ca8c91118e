// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/user_network_child.hpp"

#include "host/call_filter.hpp"
#include "host/input_error.hpp"
#include "host/readable_files.hpp"
#include "monitor/network/slirp_network.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <grp.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

void require(bool done, const char* what) {
    if (!done) {
        throw InputError(std::string(what) + ": " + std::generic_category().message(errno));
    }
}

// A terminal's signals are for the monitor, which ends this process.
void leave_terminal() {
    for (int number = 1; number < NSIG; ++number) {
        std::signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setpgid(0, 0);
}

// Returns the socket's new number. A library's messages must not get into a connection that has the number of
// standard error.
int keep_only(int socket) {
    constexpr int first_closed = 4;
    constexpr int place = 3;
    const int apart = fcntl(socket, F_DUPFD_CLOEXEC, first_closed);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int nothing_apart = fcntl(nothing, F_DUPFD_CLOEXEC, first_closed);
    require(apart >= 0 && nothing_apart >= 0 && dup3(apart, place, O_CLOEXEC) == place, "its socket");
    for (const int standard : {0, 1, 2}) {
        require(dup2(nothing_apart, standard) == standard, "/dev/null");
    }
    closefrom(first_closed);
    return place;
}

void drop_user() {
    constexpr uid_t nobody = 65534;
    if (geteuid() == 0) {
        require(setgroups(0, nullptr) == 0 && setresgid(nobody, nobody, nobody) == 0 &&
                    setresuid(nobody, nobody, nobody) == 0,
                "another user");
    }
}

// Each of the guest's connections is a descriptor here, and each turn polls all of them.
void set_limits() {
    constexpr rlim_t most_descriptors = 1024;
    for (const auto& [resource, most] :
         {std::pair(RLIMIT_CORE, rlim_t{0}), std::pair(RLIMIT_FSIZE, rlim_t{0}),
          std::pair(RLIMIT_NPROC, rlim_t{0}), std::pair(RLIMIT_NOFILE, most_descriptors)}) {
        rlimit limit{};
        require(getrlimit(resource, &limit) == 0, "limits");
        limit.rlim_max = std::min(limit.rlim_max, most);
        limit.rlim_cur = limit.rlim_max;
        require(setrlimit(resource, &limit) == 0, "limits");
    }
}

void end_with_monitor() {
    require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "PR_SET_PDEATHSIG");
}

// libslirp rereads the file of name servers here whenever it has changed.
std::string directory_of_name_servers() {
    std::error_code absent;
    const std::filesystem::path file = std::filesystem::canonical("/etc/resolv.conf", absent);
    return absent ? "" : file.parent_path().string();
}

// Permits sockets of IPv4, and files for reading.
void confine() {
    CallFilter filter;
    filter.allow({SCMP_SYS(poll),       SCMP_SYS(ppoll),      SCMP_SYS(read),        SCMP_SYS(write),
                  SCMP_SYS(recvfrom),   SCMP_SYS(recvmsg),    SCMP_SYS(sendto),      SCMP_SYS(sendmsg),
                  SCMP_SYS(connect),    SCMP_SYS(bind),       SCMP_SYS(listen),      SCMP_SYS(accept),
                  SCMP_SYS(accept4),    SCMP_SYS(shutdown),   SCMP_SYS(getsockname), SCMP_SYS(getpeername),
                  SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(close),       SCMP_SYS(stat),
                  SCMP_SYS(newfstatat), SCMP_SYS(lseek)});
    filter.allow(SCMP_SYS(socket), {CallFilter::equals_int(0, AF_INET)});
    filter.allow(SCMP_SYS(ioctl), {CallFilter::equals_int(1, FIONREAD)});
    for (const int command : {F_GETFL, F_SETFL, F_GETFD, F_SETFD}) {
        filter.allow(SCMP_SYS(fcntl), {CallFilter::equals_int(1, command)});
    }
    constexpr unsigned flags = 2;
    filter.allow(SCMP_SYS(openat),
                 {CallFilter::has_not(flags, O_ACCMODE | O_CREAT | O_TRUNC | O_DIRECTORY | O_PATH)});
    filter.apply();
}

void tell(int socket, UserNetworkStart start, std::string_view text) {
    const std::string message = std::string(1, static_cast<char>(start)) + std::string(text);
    send(socket, message.data(), message.size(), MSG_NOSIGNAL);
}

} // namespace

void become_user_network(const NetworkChoice& choice, int socket) {
    try {
        end_with_monitor();
        leave_terminal();
        socket = keep_only(socket);
        SlirpNetwork network(choice, socket);
        std::string lacking;
        if (!allow_reading_beneath(directory_of_name_servers())) {
            lacking = std::string("Landlock: ") + std::generic_category().message(errno);
        }
        drop_user();
        set_limits();
        end_with_monitor(); // Linux forgets this setting when the user changes
        confine();
        tell(socket, UserNetworkStart::begun, lacking);
        network.run();
    } catch (const std::exception& error) {
        tell(socket, UserNetworkStart::failed, error.what());
    }
    _exit(0);
}

} // namespace previrt
