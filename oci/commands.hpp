// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "oci/host_runtime.hpp"

#include <string>
#include <vector>

namespace previrt::oci {

// The options of `create` and `run`.
struct CreateOptions {
    std::string name;
    std::string bundle = ".";
    std::string console_socket;
    std::string pid_file;
    bool no_pivot = false;
    bool no_new_keyring = false;
    bool detach = false; // of `run`, as the next two
    bool keep = false;
    bool no_subreaper = false;
    unsigned preserved = 0; // descriptors for the container
};

struct ExecOptions {
    std::string name;
    std::string process; // a file
    std::vector<std::string> command;
    std::string console_socket;
    std::string pid_file;
    std::string directory;
    std::string user;
    std::vector<std::string> environment;
    std::vector<unsigned> groups;
    std::vector<std::string> capabilities;
    bool has_terminal = false;
    bool detach = false;
    bool no_new_privileges = false;
    bool ignore_paused = false;
    unsigned preserved = 0;
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
