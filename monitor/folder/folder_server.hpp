// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/folder/choice.hpp"
#include "monitor/server/server_process.hpp"

#include <string>

namespace previrt {

// A process of virtiofsd, which serves one folder. It sees that folder of this machine, and no other file. Or
// a server of somebody else's, which listens at a socket.
class FolderServer {
public:
    // Throws InputError if this machine lacks something.
    explicit FolderServer(const FolderChoice& choice);
    FolderServer(FolderServer&& other) noexcept = default;
    FolderServer& operator=(FolderServer&&) = delete;
    FolderServer(const FolderServer&) = delete;
    FolderServer& operator=(const FolderServer&) = delete;
    // Waits for its end, which comes with the end of its connection.
    ~FolderServer();

    // To be taken once: a connection, for vhost-user.
    [[nodiscard]] Descriptor take_connection() { return std::move(connection_); }
    // Of a server that has ended, or ends: how, and its last message.
    [[nodiscard]] std::string describe_end();

private:
    Descriptor connection_;
    ServerProcess process_; // none, if it is somebody else's
    bool is_own_ = true;
};

// Throws InputError if virtiofsd is missing.
void require_folder_server();

// Starts a server, and ends it. Returns a finding; throws InputError if this machine has no folders for
// guests.
std::string probe_folders();

} // namespace previrt
