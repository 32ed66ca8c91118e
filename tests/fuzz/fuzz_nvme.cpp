// SPDX-License-Identifier: BSD-2-Clause
// A guest that means no good: whatever it does, the controller reads and writes nothing but RAM, hands the
// medium nothing but RAM and places on the disk, and every call ends.
#include "devices/nvme/nvme.hpp"
#include "devices/nvme/registers.hpp"
#include "tests/fuzz/nvme_step.hpp"
#include "tests/fuzz/steps.hpp"
#include "tests/unit/devices/dp83820/ram.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace previrt {

namespace {

using namespace nvme;

constexpr std::uint64_t ram_bytes = 0x8'0000;
constexpr std::uint64_t disk_bytes = 0x20'0000;
constexpr std::size_t most_transfers = 40; // of the medium at a time
// Of one call: each command looks at its list and its pieces, and 17 queues have at most so many commands.
constexpr std::uint64_t most_accesses = 2'000'000;

class Machine {
public:
    Machine() {
        nvme.start({.bytes = disk_bytes,
                    .block_bytes = 512,
                    .number = 0,
                    .is_read_only = false,
                    .keeps_writes = true,
                    .discards = true});
    }

    void run(const NvmeStep& step) {
        accesses = 0;
        switch (static_cast<NvmeStepKind>(step.kind % nvme_step_kinds)) {
        case NvmeStepKind::write_register:
            check(nvme.write((step.index % 16U) * 4U, 4, step.value));
            break;
        case NvmeStepKind::read_register:
            (void)nvme.read(step.number * 4U, (step.value & 1U) != 0 ? 8 : 4);
            break;
        case NvmeStepKind::write_memory:
            ram.store((std::uint64_t{step.number} * 8) % ram_bytes, std::uint64_t{step.value});
            break;
        case NvmeStepKind::write_command:
            write_command(step);
            break;
        case NvmeStepKind::write_word:
            ram.store(entry(step) + 40 + ((step.number & 7U) % 6U * std::uint64_t{4}), step.value);
            break;
        case NvmeStepKind::ring:
            (void)nvme.write(at::doorbells + (step.index % 40U * 4U), 4, step.value);
            break;
        case NvmeStepKind::serve:
            nvme.serve(memory(), pieces, {.submit = submit, .context = this});
            break;
        case NvmeStepKind::complete:
            complete(step);
            break;
        case NvmeStepKind::race:
            racing = step.value;
            break;
        }
        check_state();
    }

private:
    GuestMemory memory() { return {.reach = reach, .context = this}; }

    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                               GuestMemory::Access /*access*/) {
        Machine& self = *static_cast<Machine*>(context);
        ++self.accesses;
        check(self.accesses <= most_accesses);
        if (self.racing != 0) { // another processor changes commands and lists
            self.racing = (self.racing * 1'664'525U) + 1'013'904'223U;
            const std::uint64_t place = (self.racing & 1U) != 0 ? nvme_place::queues : nvme_place::lists;
            self.ram.store(place + (((self.racing >> 8U) % 512U) * std::uint64_t{8}),
                           std::uint64_t{self.racing & 0x7'f000U});
        }
        return self.ram.at(address, bytes);
    }

    static bool submit(void* context, const Transfer& transfer) {
        Machine& self = *static_cast<Machine*>(context);
        const bool has_data = transfer.operation == Operation::read || transfer.operation == Operation::write;
        std::uint64_t bytes = 0;
        for (const Piece& piece : transfer.pieces) {
            check(piece.bytes != 0 && self.ram.at(piece.address, piece.bytes) != nullptr);
            bytes += piece.bytes;
        }
        check(bytes == (has_data ? transfer.bytes : 0) && bytes <= most_transfer_bytes);
        check(transfer.offset <= disk_bytes && transfer.bytes <= disk_bytes - transfer.offset);
        check(std::ranges::find(self.tokens, transfer.token) == self.tokens.end());
        if (self.tokens.size() >= most_transfers) {
            return false;
        }
        self.tokens.push_back(transfer.token);
        return true;
    }

    static std::uint64_t entry(const NvmeStep& step) {
        const std::uint64_t queue = (step.number >> 8U) % 3U;
        return nvme_place::queues + (2 * queue * nvme_place::queue_stride) +
               (step.index % 64U * sizeof(Command));
    }

    void write_command(const NvmeStep& step) {
        Command made{};
        made.opcode = static_cast<std::uint8_t>(step.number);
        made.identifier = step.index;
        made.namespace_id = 1;
        made.prp1 = step.value & 0xf'fffcU;
        made.prp2 = (step.value >> 12U) & 0xf'fff8U;
        ram.store(entry(step), made);
    }

    void complete(const NvmeStep& step) {
        if (tokens.empty()) {
            check(!nvme.complete(memory(), pieces, step.value, TransferEnd::done));
            return;
        }
        const auto which = tokens.begin() + static_cast<std::ptrdiff_t>(step.number % tokens.size());
        const std::uint32_t token = *which;
        tokens.erase(which);
        check(nvme.complete(memory(), pieces, token, static_cast<TransferEnd>(step.index % 5U)));
    }

    void check_state() const {
        check(nvme.transfers() == tokens.size());
        for (const SubmissionQueue& queue : nvme.submission) {
            check(!queue.exists() || (queue.head < queue.size && queue.tail < queue.size));
            check(queue.completion_queue < Nvme::most_queues);
        }
        for (const CompletionQueue& queue : nvme.completion) {
            check(!queue.exists() || queue.used() + queue.reserved < queue.size);
        }
        check(nvme.events.request_count <= nvme.events.requests.size());
    }

    Ram ram{ram_bytes};
    Nvme nvme{};
    std::array<Piece, most_pieces> pieces{};
    std::vector<std::uint32_t> tokens; // that the medium has
    std::uint64_t accesses = 0;
    std::uint32_t racing = 0;
};

} // namespace

} // namespace previrt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    previrt::run_steps<previrt::Machine, previrt::NvmeStep>(data, size);
    return 0;
}
