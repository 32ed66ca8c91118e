// SPDX-License-Identifier: BSD-2-Clause
// Two rings of bytes, the monitor at their other ends.
#include "backends/kvm/domain.hpp"
#include "inplace-vmm/backend.hpp"

namespace previrt::kvm {

namespace {

Ring* output;
Ring* input;

void ring_doorbell(std::uint64_t which) {
    *reinterpret_cast<volatile std::uint32_t*>(doorbell_address + which) = 1;
}

} // namespace

void start_console() {
    output = reinterpret_cast<Ring*>(part_of_vmm(handover.output));
    input = reinterpret_cast<Ring*>(part_of_vmm(handover.input));
}

} // namespace previrt::kvm

namespace previrt::backend {

using namespace kvm;

void write_console(std::string_view text) {
    std::uint32_t produced = output->produced;
    for (const char character : text) {
        // Full: the monitor has to read first.
        while (produced - __atomic_load_n(&output->consumed, __ATOMIC_ACQUIRE) >= sizeof(output->bytes)) {
            ring_doorbell(doorbell_output);
        }
        output->bytes[produced % sizeof(output->bytes)] = character;
        __atomic_store_n(&output->produced, ++produced, __ATOMIC_RELEASE);
    }
    ring_doorbell(doorbell_output);
}

std::optional<std::uint8_t> read_console() {
    const std::uint32_t consumed = input->consumed;
    const std::uint32_t produced = __atomic_load_n(&input->produced, __ATOMIC_ACQUIRE);
    if (consumed == produced) {
        return {};
    }
    const auto character = static_cast<std::uint8_t>(input->bytes[consumed % sizeof(input->bytes)]);
    __atomic_store_n(&input->consumed, consumed + 1, __ATOMIC_RELEASE);
    if (produced - consumed >= sizeof(input->bytes)) {
        ring_doorbell(doorbell_output); // it waits for room
    }
    return character;
}

namespace {

[[noreturn]] void end() {
    for (;;) {
        ring_doorbell(doorbell_end);
    }
}

} // namespace

void power_off() {
    end();
}

void reboot() {
    end();
}

void crash() {
    end();
}

} // namespace previrt::backend
