// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/descriptor_ring.hpp"
#include "devices/dp83820/eeprom.hpp"
#include "devices/dp83820/frame_fifo.hpp"
#include "devices/dp83820/interrupts.hpp"
#include "devices/dp83820/management_counters.hpp"
#include "devices/dp83820/mii.hpp"
#include "devices/dp83820/phy.hpp"
#include "devices/dp83820/receive_filter.hpp"
#include "devices/dp83820/statistics.hpp"
#include "devices/dp83820/stored_registers.hpp"
#include "devices/pci/pci_function.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/unfinished.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace previrt {

// National Semiconductor DP83820: a network card that masters the bus. Times are nanoseconds that never go
// back.
//
// The VMM calls start() once. It reads and writes registers when the guest does; this touches none of the
// guest's memory. In batches of its choice, and only while the function masters the bus, it calls transmit()
// until that is idle, receive() for arrived frames, and serve_receiver() after receive_requested().
// interrupt_line() is INTA#, a level; it changes with any of these, and by itself at next_event().
struct Dp83820 {
    // Without FCS, with tags.
    static constexpr std::uint32_t largest_frame = 9216;
    static constexpr std::uint32_t largest_packet = largest_frame - ethernet::tag_bytes;   // a tag may follow
    static constexpr std::uint32_t transmit_room = largest_packet + ethernet::check_bytes; // or with a tag
    // The bound of descriptors that one call reads, whatever the guest has linked.
    static constexpr std::uint32_t most_descriptors = 1024;

    // A packet of which the guest has not given all descriptors yet.
    struct Packet {
        std::uint32_t bytes = 0;
        std::uint32_t cmdsts = 0; // of all its descriptors together
        std::uint32_t extsts = 0;
        bool too_long = false;

        // Without the FCS, which the guest may have appended itself.
        [[nodiscard]] std::uint32_t frame_bytes() const {
            const bool has_check = (cmdsts & dp83820::cmdsts_crc) != 0 && bytes >= ethernet::check_bytes;
            return bytes - (has_check ? ethernet::check_bytes : 0);
        }
    };

    dp83820::Interrupts interrupts{};
    dp83820::Statistics statistics{};
    dp83820::StoredRegisters stored{};
    std::uint32_t cfg = 0;
    std::uint32_t mear = 0;
    bool memory_test_done = false; // PTSCR.RBIST_DONE
    dp83820::DescriptorRing transmit_ring{};
    dp83820::DescriptorRing receive_ring{};
    dp83820::ReceiveFilter filter{};
    dp83820::ManagementCounters counters{};
    dp83820::Eeprom eeprom{};
    dp83820::Mii mii{};
    dp83820::Phy phy{};
    Packet packet{};
    std::array<std::uint8_t, largest_packet + ethernet::check_bytes>
        packet_start{}; // the start of packet.bytes
    dp83820::FrameFifo fifo{};

    // Called on a new one.
    void start(const ethernet::MacAddress& address, dp83820::Transceiver transceiver);

    // nullopt, false: not modelled, and the VMM must stop the guest. All accesses are 32 bits wide; `offset`
    // is the offset in a BAR, and `function` the card's own.
    std::optional<std::uint32_t> read(std::uint32_t offset, const PciFunction& function, std::uint64_t now);
    bool write(std::uint32_t offset, std::uint32_t value, std::uint64_t now);

    // The result of transmit(). Idle: the guest has no more frames, or the engine was stopped. Consumed:
    // there was nothing to send this time, but there may be more.
    enum class Outcome : std::uint8_t { idle, consumed, frame };
    struct Transmitted {
        Outcome outcome;
        // From the start of the room, with tag, checksums and padding, without FCS.
        std::span<std::uint8_t> frame;
        ethernet::Unfinished left; // in the frame
    };
    // The checksums of TCP and UDP in frames without a tag, if the guest leaves them to the card.
    enum class SentChecksums : std::uint8_t { complete, left };
    using TransmitRoom = std::span<std::uint8_t, transmit_room>;
    [[nodiscard]] bool transmit_requested() const { return transmit_ring.engine == dp83820::Engine::active; }
    // This write would only repeat a pending request to transmit.
    [[nodiscard]] bool requests_transmission_again(std::uint32_t offset, std::uint32_t value) const {
        return offset == dp83820::at::cr && value == dp83820::cr_txe && transmit_requested();
    }
    // Takes the next frame out of the guest's memory, and gives its descriptors back to the guest.
    Transmitted transmit(const GuestMemory& memory, TransmitRoom room, SentChecksums checksums,
                         std::uint64_t now);

    // Trusted: the sender is on this machine, or the checksums have been verified before.
    enum class Checksums : std::uint8_t { unverified, trusted };
    // False: the frame is lost, because there is no room or the ring leads out of RAM. A short frame is
    // padded.
    bool receive(const GuestMemory& memory, ethernet::Frame frame, Checksums checksums, std::uint64_t now);
    // Whether receive() has room for a frame of this size. If not, a sender that can wait should.
    [[nodiscard]] bool can_receive(std::uint32_t bytes) const;
    // Whether it has room without the FIFO.
    [[nodiscard]] bool receives_at_once() const;
    // The guest has enabled the receiver, or frames in the FIFO can go on.
    [[nodiscard]] bool receive_requested() const { return receive_ring.requested; }
    void serve_receiver(const GuestMemory& memory, std::uint64_t now);

    // Plugs the cable in or out, at any time.
    void set_link(bool up, std::uint64_t now);
    [[nodiscard]] bool link() const;

    [[nodiscard]] bool interrupt_line(std::uint64_t now) const { return interrupts.line(now); }
    // The time at which the line rises if nothing else happens before.
    [[nodiscard]] std::optional<std::uint64_t> next_event(std::uint64_t now) const {
        return interrupts.next_event(now);
    }

private:
    enum class Placed : std::uint8_t { whole, partly, lost };
    // A frame and its data for the guest's memory.
    struct Arrival {
        dp83820::FramePieces pieces{};
        dp83820::FrameStatus status;
    };

    void reset(std::uint64_t now);
    void load_eeprom();
    [[nodiscard]] bool has_tbi() const { return (cfg & dp83820::cfg_tbi_en) != 0; }
    [[nodiscard]] bool loops_back() const;
    [[nodiscard]] std::uint32_t link_status() const;
    void tell_link_changes(std::uint32_t before, std::uint64_t now);
    void count(dp83820::Counter counter, std::uint64_t now);
    [[nodiscard]] dp83820::DescriptorFormat format() const { return dp83820::DescriptorFormat::of(cfg); }

    [[nodiscard]] std::optional<std::uint32_t> read_stored(std::uint32_t offset) const;
    [[nodiscard]] std::uint32_t read_cr() const;
    [[nodiscard]] std::uint32_t read_mear() const;
    [[nodiscard]] std::uint32_t read_tbi(std::uint32_t offset) const;
    bool write_stored(std::uint32_t offset, std::uint32_t value);
    void write_cr(std::uint32_t value, std::uint64_t now);
    bool write_cfg(std::uint32_t value);
    void write_mear(std::uint32_t value, std::uint64_t now);
    void write_ptscr(std::uint32_t value);
    void write_mibc(std::uint32_t value, std::uint64_t now);
    void write_transmit_pointer(std::uint64_t value);

    void reset_transmitter(std::uint64_t now);
    void stop_transmitter(dp83820::DescriptorRing::Look why, std::uint64_t now);
    bool gather(const GuestMemory& memory, const dp83820::Descriptor& descriptor, std::uint8_t* to);
    dp83820::DescriptorRing::Look take_descriptor(const GuestMemory& memory, std::uint8_t* start, bool& last,
                                                  std::uint64_t now);
    Transmitted finish_packet(const GuestMemory& memory, TransmitRoom room, SentChecksums checksums,
                              std::uint64_t now);
    [[nodiscard]] bool has_own_tag() const;
    [[nodiscard]] bool inserts_tag() const;
    [[nodiscard]] ethernet::Unfinished do_checksums(std::span<std::uint8_t> frame,
                                                    SentChecksums checksums) const;
    [[nodiscard]] std::span<std::uint8_t> complete(std::span<std::uint8_t> frame, TransmitRoom room) const;

    void reset_receiver(std::uint64_t now);
    void stop_receiver(dp83820::DescriptorRing::Look why, std::uint64_t now);
    bool take_in(const GuestMemory& memory, ethernet::Frame frame, Checksums checksums, std::uint64_t now);
    std::optional<std::uint32_t> inspect(ethernet::Frame frame, Checksums checksums);
    std::optional<std::uint32_t> judge_length(ethernet::Frame frame, bool tagged, std::uint64_t now);
    bool store(const GuestMemory& memory, const Arrival& arrival, std::uint64_t now);
    dp83820::DescriptorRing::Look give_descriptor(const GuestMemory& memory, const Arrival& arrival,
                                                  std::uint32_t& placed, bool& last, std::uint64_t now);
    Placed place(const GuestMemory& memory, const Arrival& arrival, std::uint32_t& placed,
                 std::uint32_t& budget, std::uint64_t now);
    void look_ahead(const GuestMemory& memory, std::uint64_t now);
};

static_assert(std::is_trivially_copyable_v<Dp83820>);

} // namespace previrt
