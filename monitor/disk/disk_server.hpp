// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/disk_ring.hpp"
#include "monitor/disk/disk_file.hpp"
#include "monitor/disk/engine.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

struct DiskRings {
    monitored::DiskRequestRing& requests;
    monitored::DiskCompletionRing& completions;
};

struct DiskCounts {
    std::uint64_t reads;
    std::uint64_t read_bytes;
    std::uint64_t writes;
    std::uint64_t written_bytes;
    std::uint64_t flushes;
    std::uint64_t discards;
    std::uint64_t zeroed; // requests
    std::uint64_t refused;
    std::uint64_t failed; // by the file
    std::uint64_t calls;  // doorbells of the guest
    std::uint64_t calls_by_guest;
};

// Does a guest's requests for a disk on its file. Nothing of a request is believed. This process only hands
// the guest's memory to Linux, and never touches it: memory that cannot be had is an error of the request.
class DiskServer {
public:
    // `ram`: the guest's. `call_guest`: rings the guest's doorbell.
    DiskServer(DiskFile& file, DiskEngine& engine, const DiskRings& rings, std::span<std::uint8_t> ram,
               std::function<void()> call_guest);

    // The thread's work: confines itself (DiskEngine::begin), then serves until the guest has ended, and what
    // it has begun is done.
    void run(const GuestCall& call = {});

    // After run().
    [[nodiscard]] const DiskCounts& counts() const { return counts_; }
    // Of the file; empty: there was none.
    [[nodiscard]] const std::string& first_failure() const { return first_failure_; }

private:
    enum class Step : std::uint8_t {
        move,        // reads or writes
        free,        // makes a hole, in which zeros are read
        zero,        // by the file system
        write_zeros, // if it cannot
        synchronize,
    };

    struct Request {
        std::uint64_t token;
        backend::DiskOperation operation;
        bool is_durable;
        Step step;
        std::uint64_t offset;
        std::uint64_t bytes;
        std::uint64_t done; // bytes
        // The memory, behind what is done.
        std::uint32_t first_piece;
        std::uint32_t piece_count;
        std::array<iovec, backend::most_request_pieces> pieces;
        std::array<iovec, backend::most_request_pieces> batch; // of the call
        bool is_on_overlay;                                    // the call
        std::uint64_t call_bytes;
    };

    bool take_requests();
    void take(const monitored::TakenDiskRequest& taken);
    [[nodiscard]] bool is_valid(const monitored::TakenDiskRequest& taken) const;
    [[nodiscard]] bool take_pieces(Request& request, const monitored::TakenDiskRequest& taken) const;
    void begin(unsigned slot);
    void go_on(unsigned slot);
    void start_move(unsigned slot);
    void start_zeros(unsigned slot);
    void start_allocation(unsigned slot, int mode);
    void take_result(const FileResult& result);
    void take_success(unsigned slot, std::uint64_t bytes);
    void take_failure(unsigned slot, int error);
    void finish_step(unsigned slot);
    static std::span<const iovec> gather(Request& request, std::uint64_t bytes);
    static void skip(Request& request, std::uint64_t bytes);
    void complete(unsigned slot, backend::DiskResult result);
    void deliver();
    void call_if_asked();
    [[nodiscard]] bool has_work();
    void note_failure(const Request& request, int error);

    DiskFile& file_;
    DiskEngine& engine_;
    monitored::DiskCompletions rings_;
    std::span<std::uint8_t> ram_;
    std::function<void()> call_guest_;
    std::vector<Request> requests_;
    std::vector<unsigned> free_slots_;
    std::vector<backend::DiskCompletion> completed_; // for which the ring had no room
    monitored::TakenDiskRequest taken_{};
    bool can_zero_ = true;
    bool can_free_ = true;
    bool has_lost_writes_ = false; // the host could not write what it had accepted
    DiskCounts counts_{};
    std::string first_failure_;
};

} // namespace previrt
