// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

class Messages;
struct GuestProcess;

struct RunOptions {
    std::string name; // for other commands of this user's; empty: the number of the run's process
    std::string on = "auto";
    std::string kernel;
    std::string initrd;
    std::string append;
    std::uint64_t memory = std::uint64_t{256} << 20U;
    unsigned cpus = 1;
    std::string net = "none";
    std::vector<std::string> disks;
    std::string root; // a folder of this machine: the guest's root file system; empty: none
    bool root_is_writable = false;
    bool root_is_container = false;         // the command enters the root by itself: `process`
    std::vector<std::string> shares;        // folders of this machine
    std::vector<std::string> share_sockets; // of vhost-user servers, which listen already
    std::vector<std::string> ports;         // of a console device: open descriptors, and names
    std::vector<std::string> command;       // that the guest runs, and then ends; empty: none
    std::vector<std::string> environment;   // of the command, in addition: NAME=VALUE, or NAME
    const GuestProcess* process = nullptr;  // instead of both: the command is a container's
    int sessions = -1;    // a listening socket, for clients that bring further commands; -1: none
    int consoles = -1;    // likewise, for clients that show the console
    int counts = -1;      // likewise, for clients that watch the counts of instructions
    std::string stats;    // a file for the VMM's counters; empty: none
    bool isolate = false; // user mode has memory of its own: by page tables under KVM, by processes of its
                          // own in a process. On Xen that is always so
    bool rewrite_system_calls = true; // programs' frequent ones: in a process, under KVM
    bool rewrite = true;              // otherwise the VMM leaves the guest's instructions unchanged
    bool is_own_process = false;      // it only runs this guest: run_guest gives up the rest
    int counters = -1;                // the open descriptor of `stats`; -1: not open
    bool count_cycles = false;        // beside each count of an instruction
    bool require_isolation = false;   // refuse to run if a layer between guest and host is missing
    bool strict = false;              // an access that no device answers ends the guest
    double timeout = 0;               // seconds; 0: none
    bool quiet = false;               // print only warnings and errors at the start
    bool verbose = false;             // show the hypervisor's messages
    bool deterministic = false;       // count instructions instead of time: the same run twice is identical
    bool watch_console = true;        // standard input and output are the console; else `console` is
    std::function<void(std::string_view)> console;
    Messages* messages = nullptr; // takes std::cerr over; null: messages may wait for their reader
    // Called when the place is known, before anything starts.
    std::function<void(const std::string& place, bool takes_commands)> chosen = [](const std::string&, bool) {
    };
    // Called when the kernel has been read and checked, before anything starts.
    std::function<void(const std::string& sha256)> announce = [](const std::string&) {};
};

// previrt's agent is the guest's first process, or runs beside it.
inline bool has_agent(const RunOptions& options) {
    return !options.command.empty() || !options.root.empty();
}

enum RunStatus : std::uint8_t {
    guest_ended = 0, // powered off or rebooted
    guest_failed = 1,
    run_refused = 2,
    run_timed_out = 124,
    // With a command, any other status is the command's.
    command_failed = 125, // the guest has ended, and the command has not
    command_not_executable = 126,
    command_not_found = 127,
    command_killed = 128, // and the signal's number
};

} // namespace previrt
