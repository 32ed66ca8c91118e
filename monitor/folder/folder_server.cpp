// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/folder_server.hpp"

#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "host/tree.hpp"
#include "monitor/folder/folder_server_child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr const char* program = "/usr/lib/qemu/virtiofsd";

std::string system_error(int error) {
    return std::generic_category().message(error);
}

void require(bool done, const char* call) {
    if (!done) {
        throw InputError(std::string(call) + ": " + system_error(errno));
    }
}

struct Connected {
    Descriptor listening;
    Descriptor connection;
};

// virtiofsd takes the first connection of a socket that listens. No other user can reach the socket's name.
Connected connect_to_own_socket() {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/socket";
    Connected ends{.listening = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                   .connection = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path) {
        throw InputError(path + ": the name is too long for a socket; set TMPDIR to a shorter one");
    }
    path.copy(name.sun_path, path.size());
    const auto* const address = reinterpret_cast<const sockaddr*>(&name);
    require(bind(ends.listening.number(), address, sizeof name) == 0, "bind");
    require(listen(ends.listening.number(), 1) == 0, "listen");
    require(connect(ends.connection.number(), address, sizeof name) == 0, "connect");
    return ends;
}

std::string reason(const FolderServerReport& report) {
    std::string error = system_error(report.error);
    switch (report.failed) {
    case FolderServerStep::user_namespace:
        return "its server needs a mount namespace, which this user gets only in a user namespace, and this "
               "machine permits none: " +
               error;
    case FolderServerStep::mount_namespace:
        return "a mount namespace: " + error;
    case FolderServerStep::folder:
        return error;
    case FolderServerStep::read_only:
        return "this machine cannot make it read-only: " + error;
    case FolderServerStep::program:
        return std::string(program) + ": " + error;
    case FolderServerStep::descriptors:
    case FolderServerStep::none:
        break;
    }
    return "its server: " + error;
}

} // namespace

void require_folder_server() {
    if (!std::filesystem::exists(program)) {
        throw InputError(std::string("a folder is served by ") + program +
                         ", which is missing (package qemu-system-common)");
    }
}

std::string probe_folders() {
    const FolderServer server({.path = "/", .tag = std::string(root_tag), .is_read_only = true});
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return std::string(program) + " serves folders; it holds " + std::to_string(limit.rlim_max) +
           " files at once, or more if this user may raise the limit (ulimit -Hn)";
}

FolderServer::FolderServer(const FolderChoice& choice) {
    require_folder_server();
    Connected ends = connect_to_own_socket();
    Pipe report = make_pipe();
    Pipe messages = make_pipe();
    // It must not wait for a reader.
    for (const Descriptor* const end : {&messages.read, &messages.write}) {
        require(fcntl(end->number(), F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
    }
    const std::string preloaded = built_file(PREVIRT_VIRTIOFSD_OPEN);
    const FolderServerChild child{.program = program,
                                  .preloaded = preloaded.c_str(),
                                  .folder = choice.path.c_str(),
                                  .is_read_only = choice.is_read_only,
                                  .socket = ends.listening.number(),
                                  .messages = messages.write.number(),
                                  .report = report.write.number()};
    const pid_t process = fork();
    require(process >= 0, "fork");
    if (process == 0) {
        become_folder_server(child);
    }
    process_ = process;
    connection_ = std::move(ends.connection);
    messages_ = std::move(messages.read);
    report.write.close();
    FolderServerReport failure{};
    if (read(report.read.number(), &failure, sizeof failure) == sizeof failure) {
        waitpid(process_, nullptr, 0);
        throw InputError(choice.path + ": " + reason(failure));
    }
}

FolderServer::FolderServer(FolderServer&& other) noexcept
    : connection_(std::move(other.connection_)), messages_(std::move(other.messages_)),
      process_(std::exchange(other.process_, 0)) {}

FolderServer::~FolderServer() {
    connection_.close();
    if (process_ != 0) {
        (void)wait();
    }
}

std::string FolderServer::describe_end() {
    const std::string end = wait();
    const std::string message = last_message();
    return message.empty() ? end : end + ": " + message;
}

// The last line that is no consequence of the connection's end.
std::string FolderServer::last_message() const {
    constexpr std::size_t most = 65536;
    constexpr std::string_view of_the_end = "virtio_loop: Unexpected poll revents";
    std::string text(most, '\0');
    const ssize_t got = ::read(messages_.number(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    std::string last;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        last = line.empty() || line.starts_with(of_the_end) ? last : line;
    }
    return last;
}

std::string FolderServer::wait() {
    constexpr int patience = 5000; // milliseconds, for requests that are under way
    siginfo_t ended{};
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
    pollfd waiting{.fd = process.number(), .events = POLLIN, .revents = 0};
    if (process.number() >= 0 && poll(&waiting, 1, patience) == 1) {
        waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED);
        process_ = 0;
    }
    if (ended.si_pid == 0) {
        return "it does not end";
    }
    return ended.si_code == CLD_EXITED ? "exit status " + std::to_string(ended.si_status)
                                       : std::string("signal ") + strsignal(ended.si_status);
}

} // namespace previrt
