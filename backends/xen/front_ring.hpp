// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

namespace previrt::xen {

// A page with a ring of requests, and of the responses that take their places (xen/io/ring.h). The counters
// only grow (modulo 2^32).
template <typename Request, typename Response, std::uint32_t slot_count = 256>
struct SharedRing {
    static constexpr std::uint32_t size = slot_count;

    union Slot {
        Request request;
        Response response;
    };

    std::uint32_t req_prod;
    std::uint32_t req_event; // the back-end wants a notification when req_prod reaches it
    std::uint32_t rsp_prod;
    std::uint32_t rsp_event; // the front-end wants one when rsp_prod reaches it
    std::uint8_t reserved[48];
    Slot slots[size];
};

// The front-end's side. The other domain can write all of the page at any time. Therefore the front-end keeps
// its own counters and never reads them back; it reads the back-end's counter once, and believes it only
// within the number of requests.
template <typename Request, typename Response, std::uint32_t slot_count = 256>
class FrontRing {
public:
    using Ring = SharedRing<Request, Response, slot_count>;

    // `page`: zeros, not shared yet.
    void start(Ring& ring) {
        ring_ = &ring;
        ring_->req_event = 1;
        ring_->rsp_event = 1;
    }

    // Requests without a response, or whose response was not taken.
    [[nodiscard]] std::uint32_t outstanding() const { return produced_ - consumed_; }

    // Fewer than Ring::size must be outstanding.
    void put(const Request& request) {
        std::memcpy(&ring_->slots[produced_ % Ring::size].request, &request, sizeof(request));
        ++produced_;
    }

    // The back-end sees no request before push().
    [[nodiscard]] bool has_unpushed() const { return produced_ != pushed_; }
    // Called after some requests: whether the back-end wants a notification.
    bool push() {
        const std::uint32_t before = pushed_;
        if (before == produced_) {
            return false;
        }
        pushed_ = produced_;
        __atomic_store_n(&ring_->req_prod, produced_, __ATOMIC_RELEASE);
        // The waiting side does these in reverse order.
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        const std::uint32_t event = __atomic_load_n(&ring_->req_event, __ATOMIC_RELAXED);
        return produced_ - event < produced_ - before;
    }

    // nullopt: none has come. A back-end that answers a request that was not made gives no further response.
    std::optional<Response> take() {
        const std::uint32_t available = __atomic_load_n(&ring_->rsp_prod, __ATOMIC_ACQUIRE) - consumed_;
        is_broken_ = is_broken_ || available > pushed_ - consumed_;
        if (is_broken_ || available == 0) {
            return {};
        }
        Response response;
        std::memcpy(&response, &ring_->slots[consumed_ % Ring::size].response, sizeof(response));
        asm volatile("" : : : "memory"); // it must not be read again
        ++consumed_;
        return response;
    }

    // Announces a wait for that many of the outstanding responses. False: one has come already.
    bool wait(std::uint32_t number) {
        __atomic_store_n(&ring_->rsp_event, consumed_ + number, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        return is_broken_ || __atomic_load_n(&ring_->rsp_prod, __ATOMIC_RELAXED) == consumed_;
    }

    // Of the next request, and of the last response.
    [[nodiscard]] std::uint32_t request_slot() const { return produced_ % Ring::size; }
    [[nodiscard]] std::uint32_t response_slot() const { return (consumed_ - 1) % Ring::size; }

    [[nodiscard]] bool is_broken() const { return is_broken_; }
    // A response is invalid.
    void give_up() { is_broken_ = true; }

private:
    Ring* ring_ = nullptr;
    std::uint32_t produced_ = 0;
    std::uint32_t pushed_ = 0;
    std::uint32_t consumed_ = 0;
    bool is_broken_ = false;
};

} // namespace previrt::xen
