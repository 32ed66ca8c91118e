// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio_balloon/virtio_balloon.hpp"

#include "devices/virtio/configuration_space.hpp"

#include <cstring>

namespace previrt {

using namespace virtio;

namespace {

constexpr std::uint64_t page = 4096; // of the balloon, whatever the guest's are
constexpr std::uint64_t page_shift = 12;
constexpr std::uint64_t feature_reporting = std::uint64_t{1} << 5U;

// The specification numbers the queues by feature: those for statistics (2) and for hints (3) belong to
// features that are not offered. Linux leaves them out, and has the queue for reports there.
constexpr unsigned inflate_queue = 0;
constexpr unsigned deflate_queue = 1;
constexpr unsigned linux_reporting_queue = 2;
constexpr unsigned reporting_queue = 4;
constexpr std::uint16_t all_queues =
    (1U << inflate_queue) | (1U << deflate_queue) | (1U << linux_reporting_queue) | (1U << reporting_queue);

constexpr std::uint32_t num_pages_at = Transport::configuration_offset;
constexpr std::uint32_t actual_at = Transport::configuration_offset + 4;

} // namespace

// One call of serve().
class VirtioBalloon::Service {
public:
    Service(VirtioBalloon& balloon, const GuestMemory& memory, const MemoryTaker& taker)
        : balloon_(balloon), memory_(memory), taker_(taker) {}

    // Of the chains that are there when it begins.
    void serve(unsigned number) {
        SplitQueue* const queue = balloon_.transport.take_notified(number);
        std::uint16_t waiting = 0;
        if (queue == nullptr) {
            return;
        }
        Look look = queue->look(memory_, waiting);
        const bool has_some = waiting != 0;
        for (; look == Look::ready && waiting != 0; --waiting) {
            look = serve_chain(*queue, number);
        }
        if (look == Look::broken) {
            balloon_.transport.fail();
        } else if (has_some) {
            balloon_.transport.tell_used(memory_, *queue);
        }
    }

private:
    Look serve_chain(SplitQueue& queue, unsigned number) {
        std::uint16_t head = 0;
        Look look = queue.take(memory_, head);
        BufferChain chain = balloon_.transport.chain(queue, head);
        Buffer buffer{};
        while (look == Look::ready && (look = chain.next(memory_, buffer)) == Look::ready) {
            take_buffer(buffer, number);
        }
        return look == Look::broken ? look : queue.give_back(memory_, head, 0);
    }

    // The driver takes pages out of the balloon by using them.
    void take_buffer(const Buffer& buffer, unsigned number) {
        if (number == inflate_queue && !buffer.device_writes) {
            take_listed(buffer);
        } else if (number != inflate_queue && number != deflate_queue && buffer.device_writes) {
            take_range(buffer.address, buffer.bytes);
        }
    }

    // An array of page numbers. Neighbours go together.
    void take_listed(const Buffer& buffer) {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
        for (std::uint32_t at = 0; buffer.bytes - at >= sizeof(std::uint32_t) && listed_ < most_pages;
             at += sizeof(std::uint32_t), ++listed_) {
            const std::uint8_t* const place = memory_.to_read(buffer.address + at, sizeof(std::uint32_t));
            if (place == nullptr || buffer.address + at < at) {
                break;
            }
            std::uint32_t number = 0;
            std::memcpy(&number, place, sizeof number);
            __atomic_signal_fence(__ATOMIC_SEQ_CST); // read once
            if (count != 0 && number == first + count) {
                ++count;
            } else if (count != 0 && number + std::uint64_t{1} == first) {
                --first;
                ++count;
            } else {
                take_range(first << page_shift, count << page_shift);
                first = number;
                count = 1;
            }
        }
        take_range(first << page_shift, count << page_shift);
    }

    // Only its whole pages, and only if all of it is RAM.
    void take_range(std::uint64_t address, std::uint64_t bytes) {
        if (address + bytes < address) {
            return;
        }
        const std::uint64_t end = (address + bytes) & ~(page - 1);
        const std::uint64_t start = (address + page - 1) & ~(page - 1);
        if (start < address || start >= end || end - start > (most_pages - taken_) << page_shift ||
            memory_.to_write(start, end - start) == nullptr) {
            return;
        }
        taken_ += (end - start) >> page_shift;
        balloon_.taken_pages += (end - start) >> page_shift;
        taker_.take(taker_.context, start, end - start);
    }

    VirtioBalloon& balloon_;
    const GuestMemory& memory_;
    const MemoryTaker& taker_;
    std::uint64_t taken_ = 0;  // pages
    std::uint64_t listed_ = 0; // page numbers
};

void VirtioBalloon::start() {
    transport.start(feature_reporting, all_queues);
}

PciFunction* VirtioBalloon::add_function(Pci& pci, unsigned device) {
    return virtio::add_function(pci, device, Kind::balloon, configuration_bytes);
}

std::optional<std::uint32_t> VirtioBalloon::read(std::uint32_t offset, unsigned width) {
    if (offset < Transport::configuration_offset) {
        return transport.read(offset, width);
    }
    if (width != sizeof(std::uint32_t)) {
        return std::nullopt;
    }
    switch (offset) {
    case num_pages_at:
        return 0; // the host wants none
    case actual_at:
        return actual;
    default:
        return std::nullopt;
    }
}

bool VirtioBalloon::write(std::uint32_t offset, unsigned width, std::uint32_t value) {
    if (offset < Transport::configuration_offset) {
        const bool is_modelled = transport.write(offset, width, value);
        actual = transport.status == 0 ? 0 : actual;
        return is_modelled;
    }
    if (width == sizeof value && offset == actual_at) {
        actual = value;
    }
    return width == sizeof value && (offset == num_pages_at || offset == actual_at);
}

void VirtioBalloon::serve(const GuestMemory& memory, const MemoryTaker& taker) {
    Service service(*this, memory, taker);
    for (unsigned number = 0; number < Transport::most_queues; ++number) {
        service.serve(number);
    }
}

} // namespace previrt
