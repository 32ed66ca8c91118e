// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/blkif.hpp"
#include "inplace-vmm/backend/disks.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace previrt::xen {

// Requests to a blkif back-end, in permanently granted pages: of the guest's memory, the back-end reads and
// writes none. So data of any alignment pass, and after a reset no page has to be taken back from a back-end
// that is still writing to it.
//
// A transfer becomes as many requests as it needs. If the ring has not enough slots for all of them, the rest
// follows when some are free, and no other transfer is taken before it.
class BlockRing {
public:
    static constexpr std::uint32_t pages_of_request = BLKIF_MAX_SEGMENTS_PER_REQUEST;
    static constexpr std::uint32_t requests = BlockPage::size;
    static constexpr std::uint32_t pages = requests * pages_of_request;

    struct Device {
        std::uint32_t number;         // in `device/vbd`
        std::uint8_t flush_operation; // of Vbd
    };

    // `page`: zeros. `memory`: the pages. `first_grant`: of the first page; those of the others follow it.
    // `ram`: the guest's.
    void start(BlockPage& page, std::uint8_t* memory, grant_ref_t first_grant, std::uint8_t* ram);
    // Before the first transfer.
    void describe(const Device& device) { device_ = device; }

    // As backend::submit and backend::next_completion. After a response that is invalid, and after give_up(),
    // all transfers are errors.
    bool submit(const backend::DiskRequest& request);
    std::optional<backend::DiskCompletion> next();
    // Whether requests wait for push().
    [[nodiscard]] bool has_unpushed() const { return ring_.has_unpushed(); }
    // Called after some of both: whether the back-end wants a notification.
    bool push() { return ring_.push(); }
    // The back-end has gone.
    void give_up() { ring_.give_up(); }
    [[nodiscard]] bool is_broken() const { return ring_.is_broken(); }

private:
    static constexpr std::uint64_t bytes_of_request = std::uint64_t{pages_of_request} * page_size;
    static constexpr std::size_t most_pieces = pages_of_request + 1; // the first begins anywhere
    static constexpr std::uint32_t most_transfers = requests;

    enum class Course : std::uint8_t { free, runs, flush_is_due, ended };
    struct Transfer {
        std::uint64_t token;
        std::uint32_t unanswered; // requests
        backend::DiskOperation operation;
        bool is_durable;
        backend::DiskResult result;
        Course course;
    };
    // On the ring, in the pages that its number says.
    struct Request {
        std::array<backend::DiskPiece, most_pieces> pieces; // of a read
        std::uint32_t piece_count;
        std::uint8_t transfer;
        bool is_made;
    };
    // Of the transfer that was taken last, the part that has not become requests.
    struct Rest {
        std::array<backend::DiskPiece, backend::most_request_pieces> pieces;
        std::uint32_t piece_count;
        std::uint32_t piece; // the next
        std::uint64_t offset;
        std::uint64_t bytes;
        std::uint8_t transfer;
        bool is_there;
    };

    [[nodiscard]] std::uint8_t* memory_of(std::uint32_t request) const {
        return memory_ + (request * bytes_of_request);
    }
    [[nodiscard]] std::optional<std::uint32_t> free_request() const;
    void take_responses();
    void take_response(const blkif_response& response);
    void answer(Transfer& transfer, std::int16_t status);
    void give_data(const Request& request, const std::uint8_t* data) const;
    void make_requests();
    void make_request(std::uint32_t number);
    bool take_data(Request& request, std::uint8_t* data, std::uint64_t bytes,
                   backend::DiskOperation operation);
    void put_data(std::uint32_t number, std::uint8_t operation, std::uint64_t bytes);
    void put_flush(std::uint32_t number, std::uint8_t transfer);
    void put_discard(std::uint32_t number);
    void claim(std::uint32_t number, std::uint8_t transfer);
    void follow(Transfer& transfer) const;
    void end_all();
    std::optional<backend::DiskCompletion> take_ended();

    FrontRing<blkif_request, blkif_response, BlockPage::size> ring_;
    std::uint8_t* memory_ = nullptr;
    std::uint8_t* ram_ = nullptr;
    grant_ref_t first_grant_ = 0;
    Device device_{};
    std::array<Transfer, most_transfers> transfers_{};
    std::array<Request, requests> requests_{};
    Rest rest_{};
};

} // namespace previrt::xen
