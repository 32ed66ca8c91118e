// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/disk_ring.hpp"
#include "monitor/disk/disk_server.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/guest/mapping.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

namespace previrt {

using Bytes = std::vector<std::uint8_t>;

// A guest with a disk: the VMM's end of its rings, and RAM between pages that nobody may touch.
class DiskGuest {
public:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t ram_bytes = std::size_t{4} << 20U;

    DiskGuest() {
        mprotect(memory_.bytes().data(), page, PROT_NONE);
        mprotect(memory_.bytes().data() + page + ram_bytes, page, PROT_NONE);
    }
    ~DiskGuest() { stop(); }
    DiskGuest(const DiskGuest&) = delete;
    DiskGuest& operator=(const DiskGuest&) = delete;

    [[nodiscard]] std::span<std::uint8_t> ram() const { return memory_.bytes().subspan(page, ram_bytes); }
    [[nodiscard]] DiskEvents events() const { return {.called = called_.number(), .ended = ended_.number()}; }

    void start(DiskFile& file, DiskEngine& engine) {
        server_ = std::make_unique<DiskServer>(
            file, engine, DiskRings{.requests = *request_ring, .completions = *completion_ring}, ram(),
            [this] {
                rung_.fetch_add(1);
                rung_.notify_all(); // a call that the thread's filter allows
            });
        thread_ = std::thread([this] { server_->run(); });
    }
    DiskServer& stop() {
        if (thread_.joinable()) {
            eventfd_write(ended_.number(), 1);
            thread_.join();
        }
        return *server_;
    }

    void ring() const { eventfd_write(called_.number(), 1); }
    void notify() {
        if (vmm.must_call()) {
            ring();
        }
    }
    void submit(const backend::DiskRequest& request) {
        std::uint32_t rung = rung_.load();
        while (!vmm.submit(request)) {
            notify();
            rung_.wait(rung);
            rung = rung_.load();
        }
    }
    backend::DiskCompletion next() {
        for (;;) {
            const std::uint32_t rung = rung_.load();
            if (const auto completion = vmm.next_completion()) {
                return *completion;
            }
            notify();
            rung_.wait(rung);
        }
    }
    // One request alone.
    backend::DiskResult ask(backend::DiskOperation operation, std::uint64_t offset, std::uint64_t bytes,
                            std::span<const backend::DiskPiece> pieces = {}, bool is_durable = false) {
        submit({.token = ++token_,
                .operation = operation,
                .is_durable = is_durable,
                .offset = offset,
                .bytes = bytes,
                .pieces = pieces});
        const backend::DiskCompletion completion = next();
        notify();
        return completion.token == token_ ? completion.result : backend::DiskResult::refused;
    }
    backend::DiskResult write(std::uint64_t offset, const Bytes& bytes, bool is_durable = false) {
        std::memcpy(ram().data(), bytes.data(), bytes.size());
        const backend::DiskPiece piece{.address = 0, .bytes = bytes.size()};
        return ask(backend::DiskOperation::write, offset, bytes.size(), std::span(&piece, 1), is_durable);
    }
    std::pair<backend::DiskResult, Bytes> read(std::uint64_t offset, std::size_t bytes) {
        std::memset(ram().data(), 0xee, bytes);
        const backend::DiskPiece piece{.address = 0, .bytes = bytes};
        const backend::DiskResult result =
            ask(backend::DiskOperation::read, offset, bytes, std::span(&piece, 1));
        return {result, Bytes(ram().data(), ram().data() + bytes)};
    }

    std::unique_ptr<monitored::DiskRequestRing> request_ring = std::make_unique<monitored::DiskRequestRing>();
    std::unique_ptr<monitored::DiskCompletionRing> completion_ring =
        std::make_unique<monitored::DiskCompletionRing>();
    monitored::DiskRequests vmm{*request_ring, *completion_ring};

private:
    Mapping memory_ = Mapping::of_zeros(ram_bytes + (2 * page));
    Descriptor called_ = make_event();
    Descriptor ended_ = make_event();
    std::atomic<std::uint32_t> rung_ = 0;
    std::uint64_t token_ = 0;
    std::unique_ptr<DiskServer> server_;
    std::thread thread_;
};

} // namespace previrt
