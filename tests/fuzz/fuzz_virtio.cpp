// SPDX-License-Identifier: BSD-2-Clause
// A guest that means no good: whatever it does, a virtio device reads and writes nothing but RAM, keeps the
// rules of the host's end, and every call ends.
#include "tests/fuzz/steps.hpp"
#include "tests/fuzz/virtio_step.hpp"
#include "tests/unit/devices/virtio/balloon_machine.hpp"
#include "tests/unit/devices/virtio/console_machine.hpp"
#include "tests/unit/devices/virtio/folder_machine.hpp"
#include "tests/unit/devices/virtio/vsock_machine.hpp"

namespace previrt {

namespace {

// Of one call. Each of six queues has at most 64 chains of at most as many buffers, in pieces.
constexpr std::uint64_t most_accesses = 200'000;

template <typename Machine>
class Driven : Machine {
public:
    void run(VirtioStepKind kind, const VirtioStep& step) {
        accesses_ = 0;
        constexpr unsigned widths[] = {1, 2, 4, 4};
        const unsigned width = widths[step.index % 4U];
        const auto queue = static_cast<std::uint16_t>(step.index % Machine::linux_queues);
        switch (kind) {
        case VirtioStepKind::start:
            this->start();
            break;
        case VirtioStepKind::write_register:
            (void)this->device.write(step.number % 0x80U, width, step.value);
            break;
        case VirtioStepKind::read_register:
            (void)this->device.read(step.number % 0x80U, width);
            break;
        case VirtioStepKind::write_memory:
            this->ram.store((std::uint64_t{step.number} * 8) % Machine::ram_bytes,
                            step.value | std::uint64_t{step.index} << 32U);
            break;
        case VirtioStepKind::describe:
            this->describe(queue, step.number % 16U, step.value & 0x7'ffffU, step.value >> 19U,
                           (step.number >> 4U) % 8U, (step.number >> 8U) % 16U);
            break;
        case VirtioStepKind::offer:
            this->offer(queue, step.number % 16U);
            break;
        case VirtioStepKind::notify:
            (void)this->device.write(::notify, 2, step.index);
            break;
        case VirtioStepKind::serve:
            serve();
            break;
        case VirtioStepKind::host:
            change_host(step.value);
            break;
        case VirtioStepKind::race:
            racing_ = step.value;
            break;
        }
    }

private:
    GuestMemory memory() { return {.reach = reach, .context = this}; }

    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                               GuestMemory::Access /*access*/) {
        Driven& self = *static_cast<Driven*>(context);
        check(++self.accesses_ <= most_accesses);
        if (self.racing_ != 0) { // another processor changes descriptors and rings
            self.racing_ = (self.racing_ * 1'664'525U) + 1'013'904'223U;
            const std::uint64_t place = Machine::descriptors + ((self.racing_ >> 8U) % 0x3000U & ~7U);
            self.ram.store(place, std::uint64_t{self.racing_ & 0xffffU});
        }
        return self.ram.at(address, bytes);
    }

    void serve() {
        if constexpr (std::is_same_v<Machine, FolderMachine>) {
            this->folder.serve(memory(), this->host(), this->masters_bus);
            this->notified.clear();
        } else if constexpr (std::is_same_v<Machine, VsockMachine>) {
            this->vsock.serve(memory(), this->host());
            for (const VsockMachine::Packet& packet : this->sent) {
                check(VsockMachine::header_of(packet).len == packet.size() - vsock::header_bytes);
            }
            this->sent.clear();
        } else if constexpr (std::is_same_v<Machine, ConsoleMachine>) {
            this->console.serve(memory(), this->host());
            for (const ConsoleMachine::Packet& packet : this->sent) {
                check(ConsoleMachine::header_of(packet).port < 2);
            }
            this->sent.clear();
        } else {
            const MemoryTaker taker{.take = take, .context = this};
            this->balloon.serve(memory(), taker);
        }
    }

    static void take(void* context, std::uint64_t address, std::uint64_t bytes) {
        check(bytes != 0 && static_cast<Driven*>(context)->ram.at(address, bytes) != nullptr);
    }

    void change_host(std::uint32_t bits) {
        if constexpr (std::is_same_v<Machine, FolderMachine>) {
            this->masters_bus = (bits & 1U) != 0;
            this->is_settled = (bits & 2U) != 0 || (!this->folder.is_ending && this->is_settled);
            this->has_used = (bits & 4U) != 0;
        } else if constexpr (std::is_same_v<Machine, VsockMachine>) {
            this->room_for = bits & 3U;
            if (this->for_guest.size() < 3) {
                this->for_guest.push_back(VsockMachine::packet((bits >> 2U) % 70'000U));
            }
        } else if constexpr (std::is_same_v<Machine, ConsoleMachine>) {
            this->room_for = bits & 3U;
            if (this->for_guest.size() < 3) {
                this->for_guest.push_back(ConsoleMachine::packet(
                    (bits >> 2U) % 3U, static_cast<console_port::Event>((bits >> 4U) % 3U),
                    std::string((bits >> 6U) % 10'000U, 'x')));
            }
        }
    }

    std::uint64_t accesses_ = 0;
    std::uint32_t racing_ = 0;
};

class Devices {
public:
    void run(const VirtioStep& step) {
        const auto kind = static_cast<VirtioStepKind>(step.kind % virtio_step_kinds);
        switch (static_cast<VirtioDevice>(step.kind / virtio_step_kinds % virtio_devices)) {
        case VirtioDevice::balloon:
            balloon_.run(kind, step);
            break;
        case VirtioDevice::vsock:
            vsock_.run(kind, step);
            break;
        case VirtioDevice::folder:
            folder_.run(kind, step);
            break;
        case VirtioDevice::console:
            console_.run(kind, step);
            break;
        }
    }

private:
    Driven<BalloonMachine> balloon_;
    Driven<VsockMachine> vsock_;
    Driven<FolderMachine> folder_;
    Driven<ConsoleMachine> console_;
};

} // namespace

} // namespace previrt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    previrt::run_steps<previrt::Devices, previrt::VirtioStep>(data, size);
    return 0;
}
