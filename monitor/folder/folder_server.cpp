// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/folder_server.hpp"

#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/folder/folder_server_child.hpp"
#include "monitor/server/own_socket.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

constexpr const char* program = "/usr/lib/qemu/virtiofsd";
constexpr std::chrono::seconds patience(5); // for requests that are under way

std::string system_error(int error) {
    return std::generic_category().message(error);
}

void require(bool done, const char* call) {
    if (!done) {
        throw InputError(std::string(call) + ": " + system_error(errno));
    }
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

FolderServer::FolderServer(const FolderChoice& choice) : is_own_(!choice.is_socket) {
    if (!is_own_) {
        connection_ = connect_to_socket(choice.path);
        return;
    }
    require_folder_server();
    OwnSocket ends = connect_to_own_socket();
    Pipe report = make_pipe();
    Pipe messages = make_message_pipe();
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
    process_ = ServerProcess(process, std::move(messages.read));
    connection_ = std::move(ends.connection);
    report.write.close();
    FolderServerReport failure{};
    if (read(report.read.number(), &failure, sizeof failure) == sizeof failure) {
        (void)process_.wait(patience);
        throw InputError(choice.path + ": " + reason(failure));
    }
}

FolderServer::~FolderServer() {
    connection_.close();
    if (is_own_) {
        (void)process_.wait(patience);
    }
}

std::string FolderServer::describe_end() {
    if (!is_own_) {
        return "it has closed its connection, or does not speak vhost-user";
    }
    const std::string end = process_.wait(patience);
    const std::string message = process_.last_message("virtio_loop: Unexpected poll revents"); // of the end
    return message.empty() ? end : end + ": " + message;
}

} // namespace previrt
