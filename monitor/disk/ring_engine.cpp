// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "monitor/disk/engine.hpp"
#include "monitor/disk/restricted_ring.hpp"
#include "monitor/guest/confinement.hpp"

#include <array>
#include <cerrno>
#include <liburing.h>
#include <poll.h>
#include <string>
#include <system_error>
#include <vector>

namespace previrt {

namespace {

// The registered files: no others can be used.
enum RegisteredFile : std::uint8_t { disk_file, called_event, ended_event, overlay_file };

constexpr unsigned entries = 2 * DiskEngine::slots; // and two polls
constexpr std::uint64_t poll_data = std::uint64_t{1} << 32U;

std::vector<int> files_of(int file, int overlay, const DiskEvents& events) {
    std::vector<int> files{file, events.called, events.ended};
    if (overlay >= 0) {
        files.push_back(overlay);
    }
    return files;
}

class RingEngine : public DiskEngine {
public:
    RingEngine(int file, int overlay, const DiskEvents& events)
        : ring_(entries, files_of(file, overlay, events)) {}

    [[nodiscard]] std::string name() const override { return "io_uring"; }

    void begin(const GuestCall& call) override { confine_disk_thread(ring_.number(), call); }

    void start(unsigned slot, const FileOperation& operation) override {
        io_uring_sqe& entry = next_entry();
        const int file = operation.is_overlay ? overlay_file : disk_file;
        const auto count = static_cast<unsigned>(operation.pieces.size());
        switch (operation.call) {
        case FileCall::read:
            io_uring_prep_readv(&entry, file, operation.pieces.data(), count, operation.offset);
            break;
        case FileCall::write:
            io_uring_prep_writev(&entry, file, operation.pieces.data(), count, operation.offset);
            break;
        case FileCall::durable_write:
            io_uring_prep_writev2(&entry, file, operation.pieces.data(), count, operation.offset, RWF_DSYNC);
            break;
        case FileCall::synchronize:
            io_uring_prep_fsync(&entry, file, IORING_FSYNC_DATASYNC);
            break;
        case FileCall::allocate:
            io_uring_prep_fallocate(&entry, file, operation.mode, static_cast<off_t>(operation.offset),
                                    static_cast<off_t>(operation.bytes));
            break;
        }
        io_uring_sqe_set_flags(&entry, IOSQE_FIXED_FILE);
        io_uring_sqe_set_data64(&entry, slot);
        has_started_ = true;
    }

    Turn turn(bool sleeps) override {
        for (const RegisteredFile event : {called_event, ended_event}) {
            if (!polls_.at(event)) {
                poll_event(event);
            }
        }
        sleeps = sleeps && io_uring_cq_ready(ring_.get()) == 0;
        if (sleeps || has_started_) {
            submit(sleeps);
        }
        Turn events{.was_called = false, .has_ended = false};
        collect(events);
        return events;
    }

    std::optional<FileResult> next() override {
        if (taken_ == results_.size()) {
            results_.clear();
            taken_ = 0;
            return {};
        }
        return results_[taken_++];
    }

private:
    io_uring_sqe& next_entry() {
        io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
        while (entry == nullptr) { // each slot has one call: there is room behind those that were submitted
            submit(false);
            entry = io_uring_get_sqe(ring_.get());
        }
        return *entry;
    }

    // It stays: nobody reads the event, but each further count of it is a result.
    void poll_event(RegisteredFile event) {
        io_uring_sqe& entry = next_entry();
        io_uring_prep_poll_multishot(&entry, event, POLLIN);
        io_uring_sqe_set_flags(&entry, IOSQE_FIXED_FILE);
        io_uring_sqe_set_data64(&entry, poll_data | event);
        polls_.at(event) = true;
        has_started_ = true;
    }

    void submit(bool sleeps) {
        const int submitted = io_uring_submit_and_wait(ring_.get(), sleeps ? 1 : 0);
        if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
            throw InputError("io_uring_enter: " + std::generic_category().message(-submitted));
        }
        has_started_ = io_uring_sq_ready(ring_.get()) != 0;
    }

    void collect(Turn& events) {
        io_uring_cqe* completion = nullptr;
        while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
            const std::uint64_t data = io_uring_cqe_get_data64(completion);
            if ((data & poll_data) == 0) {
                results_.push_back({.slot = static_cast<unsigned>(data), .result = completion->res});
            } else {
                const auto event = static_cast<std::uint8_t>(data);
                polls_.at(event) = (completion->flags & IORING_CQE_F_MORE) != 0;
                (event == called_event ? events.was_called : events.has_ended) = true;
            }
            io_uring_cqe_seen(ring_.get(), completion);
        }
    }

    RestrictedRing ring_;
    std::array<bool, overlay_file> polls_{}; // which are there
    bool has_started_ = false;
    std::vector<FileResult> results_;
    std::size_t taken_ = 0;
};

} // namespace

std::unique_ptr<DiskEngine> make_ring_engine(int file, int overlay, const DiskEvents& events) {
    return std::make_unique<RingEngine>(file, overlay, events);
}

} // namespace previrt
