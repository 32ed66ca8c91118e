// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace previrt::oci {

// What previrt-oci keeps of a container, beside what the host's runtime keeps:
//   bundle/config.json   of the container's process on this machine
//   config.json          as the engine has written it
//   options.json         of previrt-oci itself
//   files/               where the guest's monitor finds the container's files; empty for all others
//   sessions             a socket of the monitor, for further commands
class ContainerStore {
public:
    // Throws InputError if the name cannot be one of a container.
    ContainerStore(const std::string& root, const std::string& name);

    [[nodiscard]] bool exists() const;
    // Throws InputError if the container is there already.
    void make() const;
    void remove() const;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::string bundle() const { return path_ + "/bundle"; }
    [[nodiscard]] std::string files() const { return path_ + "/files"; }
    [[nodiscard]] std::string path_of(const std::string& file) const { return path_ + "/" + file; }

    // The path may be longer than that of a socket.
    [[nodiscard]] Descriptor listen_for_sessions() const;
    [[nodiscard]] Descriptor connect() const;

private:
    std::string name_;
    std::string path_;
};

// Of the host's runtime, for the containers of previrt-oci.
std::string root_of_host_runtime(const std::string& root);

} // namespace previrt::oci
