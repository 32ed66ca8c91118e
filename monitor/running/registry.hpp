// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

struct RunOptions;

// A guest of this user's, as its run describes it.
struct RunningGuest {
    std::string name;
    pid_t process = 0;        // of the run
    std::int64_t started = 0; // seconds since 1970
    std::string place;        // empty: the guest is about to start
    std::string kernel;
    std::string command; // empty: none
    std::uint64_t memory = 0;
    bool takes_commands = false; // it has an agent, and its place is known
};

// The entry of a running guest in a directory that only its user can open: a file, which the run keeps
// locked, and sockets for clients. Linux unlocks the file when the run has ended, in whatever way.
class GuestEntry {
public:
    // Throws InputError if the options' name cannot be one, or a guest has it.
    explicit GuestEntry(const RunOptions& options);
    GuestEntry(const GuestEntry&) = delete;
    GuestEntry& operator=(const GuestEntry&) = delete;
    ~GuestEntry();

    // Sockets for clients that bring commands, for those that show the console, and for those that watch the
    // counts of instructions.
    [[nodiscard]] int sessions() const { return sessions_.number(); }
    [[nodiscard]] int consoles() const { return consoles_.number(); }
    [[nodiscard]] int counts() const { return counts_.number(); }
    // The place is known.
    void describe(const RunOptions& options, const std::string& place, bool takes_commands) const;

private:
    // False: another process holds the name.
    bool enter(const RunOptions& options);
    void write_description(const RunOptions& options, const std::string& place, bool takes_commands) const;

    pid_t process_; // of the run: another process may describe its guest
    std::int64_t started_;
    std::string name_;
    Descriptor file_;
    Descriptor sessions_;
    Descriptor consoles_;
    Descriptor counts_;
};

// By their names.
std::vector<RunningGuest> running_guests();
std::optional<RunningGuest> find_running_guest(const std::string& name);
// Throws InputError if there is none of this name.
RunningGuest running_guest(const std::string& name);
// Of a run that was killed: the host ends its other processes, which keep its entry locked until then.
// Returns after 10 s at the latest.
void await_end(const std::string& name);
// A connection to the guest's monitor. Throws InputError.
enum class ClientKind : std::uint8_t { session, console, counts };
Descriptor connect_to_guest(const RunningGuest& guest, ClientKind kind);

} // namespace previrt
