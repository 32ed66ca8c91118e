// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/guest/confinement.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <sys/uio.h>

namespace previrt {

enum class FileCall : std::uint8_t { read, write, durable_write, synchronize, allocate };

// One call on one file. The pieces stay with the caller until it has ended.
struct FileOperation {
    FileCall call;
    int mode;        // of `allocate`
    bool is_overlay; // on the second file
    std::uint64_t offset;
    std::uint64_t bytes; // of `allocate`
    std::span<const iovec> pieces;
};

struct FileResult {
    unsigned slot;
    std::int64_t result; // as of the system call; below 0: an error number
};

// What a disk's thread waits for, beside results: eventfds.
struct DiskEvents {
    int called; // the guest's doorbell
    int ended;  // the guest has ended
};

// The files of a disk, and the calls on them that have been started and not ended: one in a slot at most.
class DiskEngine {
public:
    static constexpr unsigned slots = 128;

    DiskEngine() = default;
    DiskEngine(const DiskEngine&) = delete;
    DiskEngine& operator=(const DiskEngine&) = delete;
    virtual ~DiskEngine() = default;

    // For --verbose.
    [[nodiscard]] virtual std::string name() const = 0;
    // By the disk's thread, before the others: this thread, and the engine's, keep only the system calls that
    // the engine needs, and the call of the guest; see confine_disk_thread.
    virtual void begin(const GuestCall& call) = 0;

    virtual void start(unsigned slot, const FileOperation& operation) = 0;
    // `sleeps`: until there is a result, or an event. True: an event came since the last turn.
    struct Turn {
        bool was_called;
        bool has_ended;
    };
    virtual Turn turn(bool sleeps) = 0;
    virtual std::optional<FileResult> next() = 0;

    // After the last turn: whoever has the disk answers no more.
    [[nodiscard]] virtual bool has_lost_disk() const { return false; }
};

// `overlay`: -1: there is none. Each throws InputError if this machine has not what it needs.
std::unique_ptr<DiskEngine> make_ring_engine(int file, int overlay, const DiskEvents& events);
std::unique_ptr<DiskEngine> make_worker_engine(int file, int overlay, const DiskEvents& events);
// For an image. `connection`: to a daemon that serves it by the NBD protocol. `patience`: for answers after
// the guest's end.
std::unique_ptr<DiskEngine> make_image_engine(Descriptor connection, int overlay, const DiskEvents& events,
                                              std::chrono::milliseconds patience = std::chrono::seconds(30));
// The first of ring and workers that this machine has.
std::unique_ptr<DiskEngine> make_disk_engine(int file, int overlay, const DiskEvents& events);

} // namespace previrt
