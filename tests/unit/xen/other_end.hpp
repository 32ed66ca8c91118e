// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"

#include <cstdint>
#include <functional>

// The other domain's part of what the back-end for Xen does by shared memory, in place of Xen.
namespace previrt::xen::fake {

// What happens while somebody waits. False: nothing, and the wait is over.
extern std::function<bool()> other_domain;
extern unsigned notifications;

// A netif back-end at a ring, as right or wrong as a test wants it.
template <typename Page>
class OtherEnd {
public:
    explicit OtherEnd(Page& page) : page_(page) {}

    [[nodiscard]] std::uint32_t requests() const { return page_.req_prod - taken_; }
    auto take() { return page_.slots[taken_++ % Page::size].request; }
    template <typename Response>
    void answer(const Response& response) {
        page_.slots[page_.rsp_prod % Page::size].response = response;
        ++page_.rsp_prod;
    }
    // Whether the front-end wants to know of the responses since `before`.
    [[nodiscard]] bool must_notify(std::uint32_t before) const {
        return page_.rsp_prod - page_.rsp_event < page_.rsp_prod - before;
    }

private:
    Page& page_;
    std::uint32_t taken_ = 0;
};

} // namespace previrt::xen::fake
