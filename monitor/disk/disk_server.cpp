// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/disk_server.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <numeric>
#include <pthread.h>
#include <system_error>
#include <utility>

namespace previrt {

namespace {

using backend::DiskOperation;
using backend::DiskResult;

// A write beyond the limit of a file's size must be an error, and no signal.
void hold_size_signal() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

constexpr std::size_t zero_bytes = std::size_t{1} << 16U;
alignas(4096) constexpr std::array<std::uint8_t, zero_bytes> zeros{};

bool is_unsupported(int error) {
    return error == EOPNOTSUPP || error == ENOSYS || error == ENODEV || error == EINVAL;
}

const char* name_of(DiskOperation operation) {
    switch (operation) {
    case DiskOperation::read:
        return "read";
    case DiskOperation::write:
        return "write";
    case DiskOperation::flush:
        return "flush";
    case DiskOperation::write_zeroes:
        return "write of zeros";
    case DiskOperation::discard:
        return "discard";
    }
    return "request";
}

} // namespace

DiskServer::DiskServer(DiskFile& file, DiskEngine& engine, const DiskRings& rings,
                       std::span<std::uint8_t> ram, std::function<void()> call_guest)
    : file_(file), engine_(engine), rings_(rings.requests, rings.completions), ram_(ram),
      call_guest_(std::move(call_guest)), requests_(DiskEngine::slots), free_slots_(DiskEngine::slots) {
    std::iota(free_slots_.rbegin(), free_slots_.rend(), 0U);
    completed_.reserve(DiskEngine::slots);
}

void DiskServer::run(const GuestCall& call) {
    hold_size_signal();
    engine_.begin(call);
    bool lives = true;
    while (lives || free_slots_.size() != requests_.size()) {
        const bool took = lives && take_requests();
        deliver();
        call_if_asked();
        const DiskEngine::Turn turn = engine_.turn(!took && (!lives || !has_work()));
        counts_.calls_by_guest += turn.was_called ? 1 : 0;
        lives = lives && !turn.has_ended;
        while (const auto result = engine_.next()) {
            take_result(*result);
        }
    }
}

// Of the guest, or asks it for a doorbell. A false counter without a request counts as nothing: otherwise a
// guest could keep this thread from sleeping.
bool DiskServer::has_work() {
    if (!completed_.empty()) {
        return !rings_.wait_for_room(); // no request is taken before
    }
    if (free_slots_.empty() || rings_.wait_for_request()) {
        return false;
    }
    return take_requests();
}

// A request that waits for its completion's delivery keeps its slot: so the guest cannot make completions
// pile up.
bool DiskServer::take_requests() {
    bool took = false;
    while (free_slots_.size() > completed_.size() && rings_.take(taken_)) {
        take(taken_);
        took = true;
    }
    return took;
}

void DiskServer::take(const monitored::TakenDiskRequest& taken) {
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    Request& request = requests_[slot];
    request.token = taken.record.token;
    request.operation = static_cast<DiskOperation>(taken.record.operation);
    request.is_durable = taken.record.is_durable != 0 && file_.is_durable();
    request.offset = taken.record.offset;
    request.bytes = taken.record.bytes;
    request.done = 0;
    if (!is_valid(taken) || !take_pieces(request, taken)) {
        ++counts_.refused;
        complete(slot, DiskResult::refused);
        return;
    }
    begin(slot);
}

bool DiskServer::is_valid(const monitored::TakenDiskRequest& taken) const {
    const backend::Disk& disk = file_.disk();
    const monitored::DiskRequestRecord& record = taken.record;
    if (record.operation > static_cast<std::uint8_t>(DiskOperation::discard)) {
        return false;
    }
    const auto operation = static_cast<DiskOperation>(record.operation);
    if (operation == DiskOperation::flush) {
        return true;
    }
    return (operation == DiskOperation::read || !disk.is_read_only) &&
           record.offset % disk.block_bytes == 0 && record.bytes % disk.block_bytes == 0 &&
           record.offset <= disk.bytes && record.bytes <= disk.bytes - record.offset;
}

bool DiskServer::take_pieces(Request& request, const monitored::TakenDiskRequest& taken) const {
    request.first_piece = 0;
    request.piece_count = 0;
    if (request.operation != DiskOperation::read && request.operation != DiskOperation::write) {
        return true;
    }
    std::uint64_t left = request.bytes;
    if (left > backend::most_request_bytes) {
        return false;
    }
    for (const backend::DiskPiece& piece : std::span(taken.pieces).first(taken.piece_count)) {
        if (piece.address > ram_.size() || piece.bytes > ram_.size() - piece.address || piece.bytes > left) {
            return false;
        }
        left -= piece.bytes;
        std::uint8_t* const begin = ram_.data() + piece.address;
        iovec* const last = request.piece_count != 0 ? &request.pieces.at(request.piece_count - 1) : nullptr;
        if (last != nullptr && static_cast<std::uint8_t*>(last->iov_base) + last->iov_len == begin) {
            last->iov_len += piece.bytes;
        } else if (piece.bytes != 0) {
            request.pieces.at(request.piece_count++) = {.iov_base = begin, .iov_len = piece.bytes};
        }
    }
    return left == 0;
}

void DiskServer::begin(unsigned slot) {
    Request& request = requests_[slot];
    switch (request.operation) {
    case DiskOperation::read:
        ++counts_.reads;
        request.step = Step::move;
        break;
    case DiskOperation::write:
        ++counts_.writes;
        request.step = Step::move;
        break;
    case DiskOperation::flush:
        ++counts_.flushes;
        request.step = Step::synchronize;
        break;
    case DiskOperation::write_zeroes:
        ++counts_.zeroed;
        request.step = file_.overlay() != nullptr ? Step::free : Step::zero;
        break;
    case DiskOperation::discard:
        ++counts_.discards;
        request.step = Step::free;
        break;
    }
    if (request.bytes == 0 && request.operation != DiskOperation::flush) {
        complete(slot, DiskResult::done);
        return;
    }
    go_on(slot);
}

void DiskServer::go_on(unsigned slot) {
    switch (requests_[slot].step) {
    case Step::move:
        start_move(slot);
        break;
    case Step::free:
        if (can_free_) {
            start_allocation(slot, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
        } else {
            take_failure(slot, EOPNOTSUPP);
        }
        break;
    case Step::zero:
        if (can_zero_) {
            start_allocation(slot, FALLOC_FL_ZERO_RANGE);
        } else {
            take_failure(slot, EOPNOTSUPP);
        }
        break;
    case Step::write_zeros:
        start_zeros(slot);
        break;
    case Step::synchronize:
        if (!file_.is_durable()) {
            complete(slot, DiskResult::done);
        } else if (has_lost_writes_) {
            complete(slot, DiskResult::write_error);
        } else {
            engine_.start(slot, {.call = FileCall::synchronize,
                                 .mode = 0,
                                 .is_overlay = false,
                                 .offset = 0,
                                 .bytes = 0,
                                 .pieces = {}});
        }
        break;
    }
}

void DiskServer::start_move(unsigned slot) {
    Request& request = requests_[slot];
    const bool is_read = request.operation == DiskOperation::read;
    DiskOverlay* const overlay = file_.overlay();
    request.call_bytes = request.bytes - request.done;
    request.is_on_overlay = overlay != nullptr;
    if (is_read && overlay != nullptr) {
        const DiskOverlay::Run run = overlay->run_at(request.offset + request.done, request.call_bytes);
        request.call_bytes = run.bytes;
        request.is_on_overlay = run.is_written;
    }
    if (!is_read && request.is_durable && has_lost_writes_) {
        complete(slot, DiskResult::write_error);
        return;
    }
    const FileCall write = request.is_durable ? FileCall::durable_write : FileCall::write;
    engine_.start(slot, {.call = is_read ? FileCall::read : write,
                         .mode = 0,
                         .is_overlay = request.is_on_overlay,
                         .offset = request.offset + request.done,
                         .bytes = 0,
                         .pieces = gather(request, request.call_bytes)});
}

void DiskServer::start_zeros(unsigned slot) {
    Request& request = requests_[slot];
    request.is_on_overlay = file_.overlay() != nullptr;
    request.call_bytes = std::min<std::uint64_t>(request.bytes - request.done, backend::most_request_bytes);
    std::size_t count = 0;
    for (std::uint64_t left = request.call_bytes; left != 0; ++count) {
        const std::uint64_t bytes = std::min<std::uint64_t>(left, zeros.size());
        request.batch.at(count) = {.iov_base = const_cast<std::uint8_t*>(zeros.data()), .iov_len = bytes};
        left -= bytes;
    }
    engine_.start(slot, {.call = FileCall::write,
                         .mode = 0,
                         .is_overlay = request.is_on_overlay,
                         .offset = request.offset + request.done,
                         .bytes = 0,
                         .pieces = std::span(request.batch).first(count)});
}

void DiskServer::start_allocation(unsigned slot, int mode) {
    Request& request = requests_[slot];
    request.is_on_overlay = file_.overlay() != nullptr;
    request.call_bytes = request.bytes;
    engine_.start(slot, {.call = FileCall::allocate,
                         .mode = mode,
                         .is_overlay = request.is_on_overlay,
                         .offset = request.offset,
                         .bytes = request.bytes,
                         .pieces = {}});
}

// The memory for the next bytes.
std::span<const iovec> DiskServer::gather(Request& request, std::uint64_t bytes) {
    const std::span<iovec> pieces =
        std::span(request.pieces).subspan(request.first_piece, request.piece_count - request.first_piece);
    if (bytes == request.bytes - request.done) {
        return pieces;
    }
    std::size_t count = 0;
    for (std::uint64_t left = bytes; left != 0; ++count) {
        iovec piece = pieces[count];
        piece.iov_len = std::min<std::uint64_t>(piece.iov_len, left);
        request.batch.at(count) = piece;
        left -= piece.iov_len;
    }
    return std::span(request.batch).first(count);
}

void DiskServer::skip(Request& request, std::uint64_t bytes) {
    while (bytes != 0) {
        iovec& piece = request.pieces.at(request.first_piece);
        const std::uint64_t skipped = std::min<std::uint64_t>(piece.iov_len, bytes);
        piece.iov_base = static_cast<std::uint8_t*>(piece.iov_base) + skipped;
        piece.iov_len -= skipped;
        bytes -= skipped;
        request.first_piece += piece.iov_len == 0 ? 1 : 0;
    }
}

void DiskServer::take_result(const FileResult& result) {
    if (result.result == -EINTR || result.result == -EAGAIN) {
        go_on(result.slot);
    } else if (result.result < 0) {
        take_failure(result.slot, static_cast<int>(-result.result));
    } else {
        take_success(result.slot, static_cast<std::uint64_t>(result.result));
    }
}

void DiskServer::take_success(unsigned slot, std::uint64_t bytes) {
    Request& request = requests_[slot];
    DiskOverlay* const overlay = file_.overlay();
    const bool moves = request.step == Step::move || request.step == Step::write_zeros;
    if (!moves) {
        if (overlay != nullptr && request.step != Step::synchronize) {
            overlay->mark(request.offset, request.bytes);
        }
        finish_step(slot);
        return;
    }
    if (bytes == 0 || bytes > request.call_bytes) { // the file has become shorter
        take_failure(slot, EIO);
        return;
    }
    const bool is_read = request.operation == DiskOperation::read;
    if (request.step == Step::move) {
        skip(request, bytes);
        (is_read ? counts_.read_bytes : counts_.written_bytes) += bytes;
    }
    if (overlay != nullptr && !is_read) {
        overlay->mark(request.offset, request.done + bytes);
    }
    request.done += bytes;
    if (request.done == request.bytes) {
        finish_step(slot);
    } else {
        go_on(slot);
    }
}

void DiskServer::finish_step(unsigned slot) {
    Request& request = requests_[slot];
    if (request.operation == DiskOperation::write_zeroes && request.is_durable &&
        request.step != Step::synchronize) {
        request.step = Step::synchronize;
        go_on(slot);
        return;
    }
    complete(slot, DiskResult::done);
}

void DiskServer::take_failure(unsigned slot, int error) {
    Request& request = requests_[slot];
    if (request.step == Step::free && is_unsupported(error)) {
        can_free_ = false;
        if (request.operation == DiskOperation::discard && file_.overlay() == nullptr) {
            complete(slot, DiskResult::done); // it frees nothing, which a discard may do
            return;
        }
        request.step = Step::write_zeros;
        go_on(slot);
        return;
    }
    if (request.step == Step::zero && is_unsupported(error)) {
        can_zero_ = false;
        request.step = Step::write_zeros;
        go_on(slot);
        return;
    }
    note_failure(request, error);
    // Linux tells once of pages that it could not write, and forgets them: a later flush would be done.
    const bool was_synchronized = request.step == Step::synchronize ||
                                  (request.step == Step::move && request.is_durable && error == EIO);
    has_lost_writes_ = has_lost_writes_ || was_synchronized;
    if (request.operation == DiskOperation::read) {
        complete(slot, DiskResult::read_error);
    } else if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        complete(slot, DiskResult::no_space);
    } else {
        complete(slot, DiskResult::write_error);
    }
}

void DiskServer::note_failure(const Request& request, int error) {
    if (counts_.failed++ == 0) {
        first_failure_ = std::string(name_of(request.operation)) + " at byte " +
                         std::to_string(request.offset + request.done) + ": " +
                         std::generic_category().message(error);
    }
}

void DiskServer::complete(unsigned slot, DiskResult result) {
    completed_.push_back({.token = requests_[slot].token, .result = result});
    free_slots_.push_back(slot);
}

void DiskServer::deliver() {
    const auto kept = std::ranges::find_if_not(completed_, [this](const backend::DiskCompletion& completion) {
        return rings_.complete(completion);
    });
    completed_.erase(completed_.begin(), kept);
}

void DiskServer::call_if_asked() {
    if (rings_.must_call()) {
        ++counts_.calls;
        call_guest_();
    }
}

} // namespace previrt
