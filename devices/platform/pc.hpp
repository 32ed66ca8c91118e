// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/dp83820.hpp"
#include "devices/io_apic/io_apic.hpp"
#include "devices/local_apic/local_apics.hpp"
#include "devices/nvme/nvme.hpp"
#include "devices/pci/pci.hpp"
#include "devices/pic8259/pic_pair.hpp"
#include "devices/pit8254/pit8254.hpp"
#include "devices/platform/keyboard_controller.hpp"
#include "devices/platform/system_control.hpp"
#include "devices/rtc/rtc.hpp"
#include "devices/uart16550/uart16550.hpp"
#include "devices/virtio_balloon/virtio_balloon.hpp"
#include "devices/virtio_console/virtio_console.hpp"
#include "devices/virtio_fs/virtio_fs.hpp"
#include "devices/virtio_vsock/virtio_vsock.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace previrt {

enum class Request : std::uint8_t { none, reset };

// The devices of a PC and the wires between them, as one plain state. Times are nanoseconds. None is before
// `advanced_to`: an earlier one, of a clock that is behind that of the last event, counts as that.
//
// The VMM calls start(), and start_apics() if it models the processors too. A processor calls advance(now)
// whenever it looks for interrupts, and interrupt_requested() and acknowledge() when it may deliver one. It
// sleeps at most until next_event(). Processors are named by their numbers; without local APICs there is one.
// After uart.receive(), uart.take_transmitted() or a packet of the network card it calls update_lines(), and
// after a step of a disk or of a folder the function for its line.
struct Pc {
    static constexpr std::uint32_t most_disks = 8;
    static constexpr std::uint32_t most_folders = 4;
    // With the bridge, the network card, balloon, vsock and console.
    static_assert(Pci::most_functions == 5 + most_disks + most_folders);

    PicPair pic{};
    LocalApics local_apics{};
    IoApic io_apic{};
    Pit8254 pit{};
    Rtc rtc{};
    Uart16550 uart{};
    Pci pci{};
    SystemControl control{};
    KeyboardController keyboard{};
    Dp83820 network{};       // if has_network
    VirtioBalloon balloon{}; // if has_balloon
    VirtioVsock vsock{};     // if has_vsock
    VirtioConsole console{}; // if has_console
    std::array<Nvme, most_disks> disks{};
    std::array<VirtioFs, most_folders> folders{};
    bool has_network = false;
    bool has_balloon = false;
    bool has_vsock = false;
    bool has_console = false;
    bool lines_lead_elsewhere = false;
    Request request = Request::none; // stays until the VMM takes it
    std::uint64_t advanced_to = 0;
    std::uint64_t timer_edges = 0;      // on IRQ0
    std::uint64_t lost_timer_edges = 0; // of those: without an interrupt of their own
    std::uint32_t network_index = 0;    // among the functions of `pci`
    std::uint32_t balloon_index = 0;
    std::uint32_t vsock_index = 0;
    std::uint32_t console_index = 0;
    std::uint32_t disk_count = 0;
    std::array<std::uint32_t, most_disks> disk_indexes{};
    std::uint32_t folder_count = 0;
    std::array<std::uint32_t, most_folders> folder_indexes{};

    static constexpr unsigned boot_processor = 0;
    static constexpr unsigned timer_irq = 0;
    static constexpr unsigned cascade_irq = 2; // from the second 8259
    static constexpr unsigned uart_irq = 4;
    static constexpr unsigned rtc_irq = 8;
    static constexpr unsigned network_irq = 11;
    static constexpr unsigned balloon_irq = 10;
    static constexpr unsigned disk_irq = 9;     // of all disks
    static constexpr unsigned channel_irq = 14; // of vsock and console
    static constexpr unsigned folder_irq = 15;  // of all folders
    static constexpr unsigned vsock_device = 2; // on the PCI bus
    static constexpr unsigned network_device = 3;
    static constexpr unsigned balloon_device = 4;
    static constexpr unsigned console_device = 5;
    static constexpr unsigned first_folder_device = 8;
    static constexpr unsigned first_disk_device = 16;
    // The initial addresses of registers, above RAM.
    static constexpr std::uint32_t network_memory = 0xfe00'0000;
    static constexpr std::uint32_t disk_memory = 0xfd00'0000; // of the first disk; the others' follow
    static constexpr std::uint16_t network_ports = 0xc000;
    static constexpr std::uint16_t balloon_ports = 0xc100;
    static constexpr std::uint16_t vsock_ports = 0xc180;
    static constexpr std::uint16_t folder_ports = 0xc200; // of the first folder; the others' follow
    static constexpr std::uint16_t console_ports = 0xc400;
    static constexpr std::uint16_t uart_port = 0x3f8;

    // The I/O APIC's pin of an interrupt line. The 8259s' cascade has none, and its number is the timer's.
    static constexpr unsigned io_apic_pin(unsigned irq) { return irq == timer_irq ? cascade_irq : irq; }

    // Called once on a new Pc: the state that firmware leaves.
    void start(std::uint64_t since_1970, std::uint64_t memory_bytes, std::uint64_t now);
    // Called once, after start(): a local APIC for each processor, and an I/O APIC.
    void start_apics(unsigned processors);
    // Called once, after start(), in its place: the interrupt controllers are another's. It moves their lines
    // by lines(). The timer's line may have risen and be as before: timer_edges counts.
    void lead_lines_elsewhere();
    // Called at most once, after start().
    void insert_network_card(const ethernet::MacAddress& address);
    void insert_balloon();
    void insert_vsock(std::uint64_t guest_cid);
    // The caller inserts its ports.
    void insert_console();
    // At most most_disks times.
    void insert_disk(const nvme::Medium& medium);
    // At most most_folders times.
    void insert_folder(std::string_view tag);
    // The card may reach the guest's memory.
    [[nodiscard]] bool network_masters_bus() const { return has_network && network_function().masters_bus(); }

    // The driver has given the balloon something, and the balloon may reach the guest's memory.
    [[nodiscard]] bool balloon_is_notified() const;
    [[nodiscard]] bool disk_masters_bus(std::uint32_t disk) const {
        return disk_function(disk).masters_bus();
    }
    [[nodiscard]] bool is_disk_register(std::uint64_t address) const {
        return disk_register(address).has_value();
    }
    // The vsock device may reach the guest's memory.
    [[nodiscard]] bool vsock_masters_bus() const { return has_vsock && vsock_function().masters_bus(); }
    // The same for the console.
    [[nodiscard]] bool console_masters_bus() const { return has_console && console_function().masters_bus(); }
    [[nodiscard]] bool folder_masters_bus(std::uint32_t folder) const {
        return folder_function(folder).masters_bus();
    }

    // nullopt, false: no device claims the port, or a device claims it and does not model the access. `width`
    // is 1, 2 or 4 bytes; bytes outside the device float.
    std::optional<std::uint32_t> read(std::uint16_t port, unsigned width, std::uint64_t now);
    bool write(std::uint16_t port, unsigned width, std::uint32_t value, std::uint64_t now);
    // Whether a device has one of these bytes: then the VMM must stop at an access that is not modelled.
    [[nodiscard]] bool claims_port(std::uint16_t port, unsigned width) const;

    // Registers in memory, by guest-physical address. nullopt, nothing: there is no register, or the access
    // is not modelled.
    struct MemoryPlace {
        unsigned processor; // that accesses it
        std::uint64_t address;
        unsigned width;
    };
    std::optional<std::uint64_t> read_memory(const MemoryPlace& place, std::uint64_t now);
    // transmit_request: repeats a pending request of the network card, and changes nothing.
    enum class Written : std::uint8_t { nothing, local_apic, io_apic, network_card, transmit_request, disk };
    Written write_memory(const MemoryPlace& place, std::uint64_t value, std::uint64_t now);
    [[nodiscard]] bool claims_memory(std::uint64_t address, std::uint64_t bytes) const;

    // An interrupt for the processor: from its local APIC, or from the 8259s if the APIC passes them.
    [[nodiscard]] bool interrupt_requested(unsigned processor) const {
        // The frequent case first: there is no request.
        return (local_apics.of(processor).has_request() || pic.interrupt_requested()) &&
               request_passes(processor);
    }
    [[nodiscard]] bool request_passes(unsigned processor) const;
    std::uint8_t acknowledge(unsigned processor); // the vector

    // Brings the interrupt lines and the processor's timer up to `now`.
    void advance(unsigned processor, std::uint64_t now);
    // The state of the 8259s at that time if nothing else happens before, or after a character for the UART.
    [[nodiscard]] PicPair interrupts_at(std::uint64_t when) const;
    [[nodiscard]] PicPair interrupts_after_input() const;
    // The asserted interrupt lines, a bit for each.
    [[nodiscard]] std::uint32_t lines() const {
        constexpr std::uint32_t timer = 1U << io_apic_pin(timer_irq);
        return (io_apic.lines & ~timer) | ((io_apic.lines & timer) != 0 ? 1U << timer_irq : 0);
    }
    // The processor is idle, or not any more.
    void rest_processor(bool rests) { network.interrupts.processor_rests = rests; }
    [[nodiscard]] bool processor_rests() const { return network.interrupts.processor_rests; }
    // Called after a change at the far side of a device.
    void update_lines();
    void update_network_line(std::uint64_t now);
    void update_balloon_line();
    void update_disk_line();
    void update_channel_line();
    void update_folder_line();

    // The first time after `advanced_to` at which the processor's timer expires, or an unmasked interrupt
    // line rises by itself. Any write may change it.
    [[nodiscard]] std::optional<std::uint64_t> next_event(unsigned processor) const;

private:
    [[nodiscard]] std::uint32_t index_of(const PciFunction& function) const;

    std::optional<std::uint8_t> read_byte(std::uint16_t port, std::uint64_t now);
    bool write_byte(std::uint16_t port, std::uint8_t value, std::uint64_t now);
    [[nodiscard]] bool decodes(std::uint16_t port) const;
    [[nodiscard]] bool floats_beside_device(std::uint16_t port, unsigned width, unsigned byte) const;
    bool write_control(std::uint16_t port, std::uint8_t value, std::uint64_t now);
    bool write_keyboard(std::uint16_t port, std::uint8_t value);
    void set_line(unsigned irq, bool asserted);
    [[nodiscard]] bool passes(unsigned irq) const; // to some processor
    void send_messages();
    void advance_devices(std::uint64_t now);
    void set_timer_line(bool level);
    [[nodiscard]] const PciFunction& network_function() const { return pci.functions[network_index]; }
    [[nodiscard]] const PciFunction& balloon_function() const { return pci.functions[balloon_index]; }
    [[nodiscard]] const PciFunction& vsock_function() const { return pci.functions[vsock_index]; }
    [[nodiscard]] const PciFunction& console_function() const { return pci.functions[console_index]; }
    [[nodiscard]] bool network_line(std::uint64_t now) const;
    // The card's register at this port, if it is one.
    [[nodiscard]] std::optional<std::uint32_t> network_register(std::uint16_t port, unsigned width) const;
    [[nodiscard]] std::optional<std::uint32_t> network_register(std::uint64_t address, unsigned width) const;
    std::optional<std::uint32_t> read_network(std::uint32_t offset, std::uint64_t now);
    Written write_network(std::uint32_t offset, std::uint32_t value, std::uint64_t now);
    [[nodiscard]] bool is_local_apic(const MemoryPlace& place) const;
    [[nodiscard]] bool is_io_apic(const MemoryPlace& place) const;
    Written write_local_apic(const MemoryPlace& place, std::uint32_t value, std::uint64_t now);
    // The balloon's register at this port, if it is one.
    [[nodiscard]] std::optional<std::uint32_t> balloon_register(std::uint16_t port) const;
    std::optional<std::uint32_t> read_balloon(std::uint32_t offset, unsigned width);
    bool write_balloon(std::uint32_t offset, unsigned width, std::uint32_t value);
    struct DiskRegister {
        std::uint32_t disk;
        std::uint32_t offset;
    };
    [[nodiscard]] const PciFunction& disk_function(std::uint32_t disk) const {
        return pci.functions[disk_indexes[disk]];
    }
    [[nodiscard]] std::optional<DiskRegister> disk_register(std::uint64_t address) const;
    [[nodiscard]] bool disk_claims(std::uint64_t address, std::uint64_t bytes) const;
    static constexpr bool overlap(std::uint64_t address, std::uint64_t bytes, std::uint64_t place,
                                  std::uint64_t length) {
        return address < place ? bytes > place - address : address - place < length;
    }
    // The vsock device's register at this port, if it is one.
    [[nodiscard]] std::optional<std::uint32_t> vsock_register(std::uint16_t port) const;
    std::optional<std::uint32_t> read_vsock(std::uint32_t offset, unsigned width);
    bool write_vsock(std::uint32_t offset, unsigned width, std::uint32_t value);
    // The same for the console.
    [[nodiscard]] std::optional<std::uint32_t> console_register(std::uint16_t port) const;
    std::optional<std::uint32_t> read_console(std::uint32_t offset, unsigned width);
    bool write_console(std::uint32_t offset, unsigned width, std::uint32_t value);
    struct FolderRegister {
        std::uint32_t folder;
        std::uint32_t offset;
    };
    [[nodiscard]] const PciFunction& folder_function(std::uint32_t folder) const {
        return pci.functions[folder_indexes[folder]];
    }
    // A folder's register at this port, if it is one.
    [[nodiscard]] std::optional<FolderRegister> folder_register(std::uint16_t port) const;
    std::optional<std::uint32_t> read_folder(const FolderRegister& place, unsigned width);
    bool write_folder(const FolderRegister& place, unsigned width, std::uint32_t value);
    // A virtio device's register at this port, if it is one.
    static std::optional<std::uint32_t> virtio_register(const PciFunction& function, std::uint16_t port);
    // As firmware leaves a card: decoded, and with a level-triggered interrupt of 8 to 15.
    void configure(PciFunction& function, unsigned irq);
    struct Lines {
        bool timer_rose;
        bool timer;
        bool rtc;
        bool network;
    };
    template <typename Controller>
    static void move_lines(Controller& to, const Lines& lines);
};

static_assert(std::is_trivially_copyable_v<Pc>);

} // namespace previrt
