// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "oci/host_runtime.hpp"

#include <string>
#include <vector>

namespace previrt::oci {

// The options of `create`, `run` and `exec`.
struct StartOptions {
    std::string name;
    std::string console_socket;
    std::string pid_file;
    bool detach = false;    // not of `create`
    unsigned preserved = 0; // descriptors for the process

    // Throws InputError if descriptors are preserved.
    [[nodiscard]] std::vector<std::string> for_host_runtime() const;
};

struct CreateOptions : StartOptions {
    std::string bundle = ".";
    bool no_pivot = false;
    bool no_new_keyring = false;
    bool no_subreaper = false; // of `run`
};

struct ExecOptions : StartOptions {
    std::string process; // a file
    std::vector<std::string> command;
    std::string directory;
    std::string user;
    std::vector<std::string> environment;
    std::vector<unsigned> groups;
    std::vector<std::string> capabilities;
    bool has_terminal = false;
    bool no_new_privileges = false;
    bool ignore_paused = false;
    std::string cgroup;
};

// For a container's process on this machine, behind its standard descriptors: its program, the namespace of
// this machine's files, and a socket: it listens for further commands, or is connected to the one that does.
class PassedDescriptors {
public:
    explicit PassedDescriptors(Descriptor socket);

    [[nodiscard]] std::vector<int> numbers() const {
        return {program_.number(), machine_.number(), socket_.number()};
    }

private:
    Descriptor program_;
    Descriptor machine_;
    Descriptor socket_;
};
constexpr const char* passed_program = "/proc/self/fd/3";
constexpr const char* passed_count = "3";

// Each gives an exit status. They throw InputError.
int create_container(const GlobalOptions& options, const CreateOptions& create);
int run_container(const GlobalOptions& options, const CreateOptions& create);
int execute_in_container(const GlobalOptions& options, const ExecOptions& exec);
int delete_container(const GlobalOptions& options, const std::string& name, bool force);
int show_state(const GlobalOptions& options, const std::string& name);
int list_containers(const GlobalOptions& options, const std::string& format, bool quiet);
int show_features();

} // namespace previrt::oci
