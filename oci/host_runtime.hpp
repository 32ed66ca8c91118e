// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt::oci {

// The global options of the command line, which the host's runtime has too; and those of previrt-oci alone.
struct GlobalOptions {
    std::string root;
    std::string log;
    std::string log_format = "text";
    bool systemd_cgroup = false;
    bool debug = false;
    std::string rootless; // empty: not given
    std::string kernel;   // empty: that of the package previrt-guest-kernel
    std::string memory;   // of a guest whose container has no limit; empty: the usual
    unsigned cpus = 0;    // likewise; 0: the usual
    bool isolate = false; // the guest's kernel from its programs
};

// runc or crun of this machine. Throws InputError if it has none that works.
std::string find_host_runtime();
// Its command line for a command of ours, with our global options.
std::vector<std::string> host_command(const GlobalOptions& options, const std::vector<std::string>& command);
// Becomes the host's runtime. Returns only by an InputError.
[[noreturn]] void become_host_runtime(const GlobalOptions& options, const std::vector<std::string>& command);
// Runs it with our standard streams; `passed` are its descriptors 3 and up. Gives its exit status.
int run_host_runtime(const GlobalOptions& options, const std::vector<std::string>& command,
                     const std::vector<int>& passed = {});
// Likewise; its standard output is `output`.
int read_host_runtime(const GlobalOptions& options, const std::vector<std::string>& command,
                      std::string& output);

} // namespace previrt::oci
