// SPDX-License-Identifier: BSD-2-Clause
// A guest and a network that mean no good: whatever they do, the card reads and writes nothing but RAM, and
// every call ends.
#include "devices/dp83820/configuration_space.hpp"
#include "devices/dp83820/dp83820.hpp"
#include "tests/fuzz/dp83820_step.hpp"
#include "tests/fuzz/steps.hpp"
#include "tests/unit/devices/dp83820/descriptor_layout.hpp"
#include "tests/unit/devices/dp83820/frames.hpp"

#include <algorithm>
#include <vector>

namespace previrt {

namespace {

using namespace dp83820;
using namespace ethernet;

constexpr std::uint64_t ram_bytes = 0x1'0000;
constexpr std::uint32_t list = 0x1000;
constexpr std::uint32_t stride = 32;
// A look, the data and a write back for each descriptor, and a few more at the ends.
constexpr std::uint64_t most_accesses = 8 * std::uint64_t{Dp83820::most_descriptors};

class Machine {
public:
    Machine() : room(Dp83820::transmit_room) {
        function = add_function(pci, 3);
        nic.start(card_address, Transceiver::copper);
    }

    void run(const Step& step) {
        accesses = 0;
        switch (static_cast<StepKind>(step.kind % step_kinds)) {
        case StepKind::read_register:
            (void)nic.read((step.index % 64U) * 4U, *function, now);
            break;
        case StepKind::write_register:
            (void)nic.write((step.index % 64U) * 4U, step.value, now);
            break;
        case StepKind::read_anywhere:
            (void)nic.read(step.number, *function, now);
            break;
        case StepKind::write_memory:
            ram.store((std::uint64_t{step.number} * 4) % ram_bytes, step.value);
            break;
        case StepKind::write_descriptor:
            write_descriptor(step);
            break;
        case StepKind::transmit:
            transmit(step);
            break;
        case StepKind::receive:
            receive(step);
            break;
        case StepKind::serve_receiver:
            nic.serve_receiver(memory(), now);
            break;
        case StepKind::set_link:
            nic.set_link((step.value & 1U) != 0, now);
            break;
        case StepKind::pass_time:
            now += step.value;
            break;
        case StepKind::send_bits:
            send_bits(step.value);
            break;
        case StepKind::race:
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
        if (self.racing != 0) { // another processor gives descriptors back, or changes them
            self.racing = (self.racing * 1'664'525U) + 1'013'904'223U;
            self.ram.store(list + (((self.racing >> 8U) % 64U) * 4U), self.racing & ~0x00ff'0000U);
        }
        return self.ram.at(address, bytes);
    }

    void write_descriptor(const Step& step) {
        const DescriptorLayout layout{.wide = (nic.cfg & cfg_m64addr) != 0};
        const std::uint32_t next = list + ((step.number & 0xffU) * stride);
        const std::uint32_t buffer = (step.number >> 8U) * 0x104U;
        layout.write(ram, list + (step.index * stride), next, buffer, step.value, step.value << 3U);
    }

    void send_bits(std::uint32_t bits) {
        for (unsigned i = 0; i < 32; ++i, bits <<= 1U) {
            const std::uint32_t mear = mear_mddir | ((bits >> 31U) != 0 ? mear_mdio : 0);
            (void)nic.write(at::mear, mear, now);
            (void)nic.write(at::mear, mear | mear_mdc, now);
        }
    }

    void transmit(const Step& step) {
        const auto checksums =
            (step.value & 1U) != 0 ? Dp83820::SentChecksums::left : Dp83820::SentChecksums::complete;
        const Dp83820::Transmitted result =
            nic.transmit(memory(), Dp83820::TransmitRoom(room), checksums, now);
        if (result.outcome == Dp83820::Outcome::frame) {
            check(result.frame.size() >= header_bytes && result.frame.size() <= Dp83820::largest_frame);
            check(result.frame.data() == room.data());
        } else {
            check(result.frame.empty());
        }
        const std::size_t checksum = std::size_t{result.left.checksum_start} + result.left.checksum_offset;
        check(checksum == 0 || checksum + 2 <= result.frame.size());
        check(checksum == 0 || checksums == Dp83820::SentChecksums::left);
    }

    void receive(const Step& step) {
        constexpr std::array<MacAddress, 4> destinations{card_address, other_address, broadcast_address,
                                                         all_hosts_address};
        constexpr std::array<std::uint16_t, 4> types{0x0800, 0x8100, 0x0806, 0x0100};
        Bytes frame(step.value % (Dp83820::largest_frame + 100));
        const Bytes header = make_frame(destinations[step.index % 4U], types[(step.index >> 2U) % 4U], {});
        const std::uint8_t* const from = ram.at(step.number % (ram_bytes / 2), frame.size());
        std::copy_n(from, frame.size(), frame.begin());
        std::copy_n(header.begin(), std::min(header.size(), frame.size()), frame.begin());
        const bool room_for_it = nic.can_receive(static_cast<std::uint32_t>(frame.size()));
        const std::uint64_t faults = nic.statistics.bus_faults;
        const bool taken = nic.receive(
            memory(), frame,
            (step.index & 0x80U) != 0 ? Dp83820::Checksums::trusted : Dp83820::Checksums::unverified, now);
        check(taken || !room_for_it || nic.statistics.bus_faults > faults);
    }

    void check_state() const {
        check(nic.transmit_ring.pointer % descriptor_alignment == 0);
        check(nic.receive_ring.pointer % descriptor_alignment == 0);
        check(nic.fifo.used <= FrameFifo::size && nic.fifo.first < FrameFifo::size);
        check(nic.packet.bytes <= nic.packet_start.size());
        const std::optional<std::uint64_t> next = nic.next_event(now);
        check(!next || (*next > now && !nic.interrupt_line(now) && nic.interrupt_line(*next)));
    }

    Ram ram{ram_bytes};
    Pci pci;
    PciFunction* function = nullptr;
    std::vector<std::uint8_t> room;
    Dp83820 nic{};
    std::uint64_t now = 0;
    std::uint64_t accesses = 0;
    std::uint32_t racing = 0;
};

} // namespace

} // namespace previrt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    previrt::run_steps<previrt::Machine, previrt::Step>(data, size);
    return 0;
}
