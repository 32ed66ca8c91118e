// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/firmware/mp_table.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace previrt {

namespace {

// In the last 64 KiB below 1 MiB, which the memory map reserves.
constexpr std::uint64_t pointer_at = 0xf0000;
constexpr std::uint64_t table_at = 0xf0010;
constexpr std::uint8_t revision = 4;
constexpr std::uint8_t io_apic_id = 0;

enum EntryType : std::uint8_t { of_processor, of_bus, of_io_apic, of_interrupt, of_local_interrupt };
enum InterruptType : std::uint8_t { vectored = 0, nmi = 1, external = 3 };
enum Bus : std::uint8_t { pci_bus = 0, isa_bus = 1 };

struct [[gnu::packed]] FloatingPointer {
    char signature[4];
    std::uint32_t table;
    std::uint8_t paragraphs; // of this structure
    std::uint8_t revision;
    std::uint8_t checksum;
    std::uint8_t features[5]; // all 0: there is a table, and virtual wire mode
};
static_assert(sizeof(FloatingPointer) == 16);

struct [[gnu::packed]] Header {
    char signature[4];
    std::uint16_t bytes;
    std::uint8_t revision;
    std::uint8_t checksum;
    char manufacturer[8];
    char product[12];
    std::uint32_t manufacturers_table;
    std::uint16_t manufacturers_bytes;
    std::uint16_t entries;
    std::uint32_t local_apic;
    std::uint16_t extended_bytes;
    std::uint8_t extended_checksum;
    std::uint8_t reserved;
};
static_assert(sizeof(Header) == 44);

struct [[gnu::packed]] ProcessorEntry {
    EntryType type;
    std::uint8_t apic_id;
    std::uint8_t apic_version;
    std::uint8_t flags; // 1: usable, 2: the boot processor
    std::uint32_t signature;
    std::uint32_t features;
    std::uint64_t reserved;
};
static_assert(sizeof(ProcessorEntry) == 20);

struct [[gnu::packed]] BusEntry {
    EntryType type;
    Bus bus;
    char name[6];
};
static_assert(sizeof(BusEntry) == 8);

struct [[gnu::packed]] IoApicEntry {
    EntryType type;
    std::uint8_t id;
    std::uint8_t version;
    std::uint8_t flags; // 1: usable
    std::uint32_t address;
};
static_assert(sizeof(IoApicEntry) == 8);

// Of a pin of the I/O APIC, or of all local APICs. Polarity and trigger mode are those of the bus.
struct [[gnu::packed]] InterruptEntry {
    EntryType type;
    InterruptType interrupt;
    std::uint16_t flags;
    Bus bus;
    std::uint8_t source;
    std::uint8_t apic;
    std::uint8_t pin;
};
static_assert(sizeof(InterruptEntry) == 8);

std::uint8_t checksum(std::span<const std::uint8_t> bytes) {
    unsigned sum = 0;
    for (const std::uint8_t byte : bytes) {
        sum += byte;
    }
    return static_cast<std::uint8_t>(0U - sum);
}

class Table {
public:
    explicit Table(std::uint8_t* memory) : memory_(memory) {}

    template <typename Entry>
    void add(const Entry& entry) {
        if (bytes_ + sizeof(entry) > most_bytes) {
            stop_guest("no room for the table of processors; its bytes:", bytes_);
        }
        std::memcpy(memory_ + bytes_, &entry, sizeof(entry));
        bytes_ += sizeof(entry);
        ++entries_;
    }
    void end(Header header) {
        header.bytes = static_cast<std::uint16_t>(bytes_);
        header.entries = entries_;
        std::memcpy(memory_, &header, sizeof(header));
        memory_[offsetof(Header, checksum)] = checksum({memory_, bytes_});
    }

    static constexpr std::size_t most_bytes = 0x1000;

private:
    std::uint8_t* memory_;
    std::size_t bytes_ = sizeof(Header);
    std::uint16_t entries_ = 0;
};

void add_processors(Table& table, const MpProcessors& processors) {
    for (std::uint32_t i = 0; i < processors.count; ++i) {
        constexpr std::uint8_t usable = 1;
        constexpr std::uint8_t boots = 2;
        table.add(ProcessorEntry{
            .type = of_processor,
            .apic_id = static_cast<std::uint8_t>(i),
            .apic_version = static_cast<std::uint8_t>(apic_version_value),
            .flags = static_cast<std::uint8_t>(i == Pc::boot_processor ? usable | boots : usable),
            .signature = processors.signature,
            .features = processors.features,
            .reserved = 0});
    }
}

// INTA of each device on the PCI bus, in the order of the devices. Gives the interrupt lines that they use.
std::uint32_t add_pci_interrupts(Table& table) {
    constexpr unsigned interrupt_line = 0x3c;
    constexpr unsigned interrupt_pin = 0x3d;
    std::uint32_t used = 0;
    for (std::uint32_t i = 0; i < pc.pci.function_count; ++i) {
        const PciFunction& function = pc.pci.functions[i];
        if (function.read(interrupt_pin, 1) == 0) {
            continue;
        }
        const std::uint32_t irq = function.read(interrupt_line, 1);
        table.add(InterruptEntry{.type = of_interrupt,
                                 .interrupt = vectored,
                                 .flags = 0,
                                 .bus = pci_bus,
                                 .source = static_cast<std::uint8_t>(function.device_number << 2U),
                                 .apic = io_apic_id,
                                 .pin = static_cast<std::uint8_t>(Pc::io_apic_pin(irq))});
        used |= 1U << irq;
    }
    return used;
}

void add_isa_interrupts(Table& table, std::uint32_t used) {
    constexpr unsigned isa_interrupts = 16;
    for (unsigned irq = 0; irq < isa_interrupts; ++irq) {
        if (irq != Pc::cascade_irq && (used >> irq & 1U) == 0) {
            table.add(InterruptEntry{.type = of_interrupt,
                                     .interrupt = vectored,
                                     .flags = 0,
                                     .bus = isa_bus,
                                     .source = static_cast<std::uint8_t>(irq),
                                     .apic = io_apic_id,
                                     .pin = static_cast<std::uint8_t>(Pc::io_apic_pin(irq))});
        }
    }
}

void add_local_interrupts(Table& table) {
    constexpr std::uint8_t all_local_apics = 0xff;
    for (const InterruptType type : {external, nmi}) {
        table.add(InterruptEntry{.type = of_local_interrupt,
                                 .interrupt = type,
                                 .flags = 0,
                                 .bus = isa_bus,
                                 .source = 0,
                                 .apic = type == external ? std::uint8_t{0} : all_local_apics,
                                 .pin = static_cast<std::uint8_t>(type == external ? 0 : 1)});
    }
}

} // namespace

void write_mp_table(const MpProcessors& processors) {
    std::uint8_t* const pointer = physical_memory(pointer_at, sizeof(FloatingPointer));
    std::uint8_t* const memory = physical_memory(table_at, Table::most_bytes);
    if (pointer == nullptr || memory == nullptr) {
        stop_guest("no memory for the table of processors, at", pointer_at);
    }
    Table table(memory);
    add_processors(table, processors);
    table.add(BusEntry{.type = of_bus, .bus = pci_bus, .name = {'P', 'C', 'I', ' ', ' ', ' '}});
    table.add(BusEntry{.type = of_bus, .bus = isa_bus, .name = {'I', 'S', 'A', ' ', ' ', ' '}});
    table.add(IoApicEntry{.type = of_io_apic,
                          .id = io_apic_id,
                          .version = IoApic::version,
                          .flags = 1,
                          .address = static_cast<std::uint32_t>(IoApic::place)});
    add_isa_interrupts(table, add_pci_interrupts(table));
    add_local_interrupts(table);
    table.end({.signature = {'P', 'C', 'M', 'P'},
               .bytes = 0,
               .revision = revision,
               .checksum = 0,
               .manufacturer = {'P', 'R', 'E', 'V', 'I', 'R', 'T', ' '},
               .product = {'P', 'C', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '},
               .manufacturers_table = 0,
               .manufacturers_bytes = 0,
               .entries = 0,
               .local_apic = static_cast<std::uint32_t>(LocalApic::place),
               .extended_bytes = 0,
               .extended_checksum = 0,
               .reserved = 0});
    const FloatingPointer found{.signature = {'_', 'M', 'P', '_'},
                                .table = static_cast<std::uint32_t>(table_at),
                                .paragraphs = 1,
                                .revision = revision,
                                .checksum = 0,
                                .features = {}};
    std::memcpy(pointer, &found, sizeof(found));
    pointer[offsetof(FloatingPointer, checksum)] = checksum({pointer, sizeof(found)});
}

} // namespace previrt
