// SPDX-License-Identifier: BSD-2-Clause
// Reads the table as a guest does.
#include "frontends/x86/firmware/mp_table.hpp"

#include "devices/nvme/nvme.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

namespace previrt {

namespace {

constexpr std::uint64_t ram_bytes = std::uint64_t{2} << 20U;

class MpTable : public testing::Test {
protected:
    struct Interrupt {
        std::uint8_t type;
        std::uint8_t bus;
        std::uint8_t source;
        std::uint8_t apic;
        std::uint8_t pin;

        auto operator<=>(const Interrupt&) const = default;
    };

    void SetUp() override {
        fake::start(ram_bytes, 8);
        vcpu.number = 0;
        pc.start(0, ram_bytes, 0);
    }

    void read() {
        write_mp_table({.count = pc.local_apics.count, .signature = 0, .features = 0});
        const std::optional<std::uint64_t> pointer = find_pointer();
        ASSERT_TRUE(pointer);
        const std::uint64_t table = value<std::uint32_t>(*pointer + 4);
        ASSERT_EQ(text(table, 4), "PCMP");
        const auto bytes = value<std::uint16_t>(table + 4);
        ASSERT_EQ(sum(table, bytes), 0);
        EXPECT_EQ(value<std::uint8_t>(table + 6), value<std::uint8_t>(*pointer + 9));
        EXPECT_EQ(value<std::uint32_t>(table + 36), LocalApic::place);
        std::uint64_t at = table + 44;
        for (unsigned left = value<std::uint16_t>(table + 34); left > 0; --left) {
            ASSERT_LT(at, table + bytes);
            at += read_entry(at);
        }
        EXPECT_EQ(at, table + bytes);
    }

    std::vector<std::pair<unsigned, unsigned>> processors; // IDs and flags
    std::map<unsigned, std::string> buses;
    std::vector<Interrupt> interrupts;
    std::vector<Interrupt> local_interrupts;
    std::optional<std::uint32_t> io_apic;

private:
    template <typename Value>
    static Value value(std::uint64_t address) {
        Value read{};
        std::memcpy(&read, backend::guest_ram() + address, sizeof(read));
        return read;
    }
    static std::string_view text(std::uint64_t address, std::size_t bytes) {
        return {reinterpret_cast<const char*>(backend::guest_ram() + address), bytes};
    }
    static std::uint8_t sum(std::uint64_t address, std::size_t bytes) {
        const std::span summed(backend::guest_ram() + address, bytes);
        return static_cast<std::uint8_t>(std::accumulate(summed.begin(), summed.end(), 0U));
    }
    static std::optional<std::uint64_t> find_pointer() {
        for (std::uint64_t at = 0xf0000; at < 0x100000; at += 16) {
            if (text(at, 4) == "_MP_" && sum(at, 16) == 0) {
                return at;
            }
        }
        return std::nullopt;
    }

    std::uint64_t read_entry(std::uint64_t at) {
        const auto byte = [&](unsigned offset) { return value<std::uint8_t>(at + offset); };
        const Interrupt interrupt{
            .type = byte(1), .bus = byte(4), .source = byte(5), .apic = byte(6), .pin = byte(7)};
        switch (byte(0)) {
        case 0:
            processors.emplace_back(byte(1), byte(3));
            return 20;
        case 1:
            buses[byte(1)] = text(at + 2, 6);
            break;
        case 2:
            EXPECT_EQ(byte(3), 1);
            io_apic = value<std::uint32_t>(at + 4);
            break;
        case 3:
            interrupts.push_back(interrupt);
            break;
        case 4:
            local_interrupts.push_back(interrupt);
            break;
        default:
            ADD_FAILURE() << "an entry of type " << unsigned{byte(0)};
        }
        return 8;
    }
};

TEST_F(MpTable, NamesEachProcessorOnce) {
    pc.start_apics(3);
    read();
    EXPECT_EQ(processors, (std::vector<std::pair<unsigned, unsigned>>{{0, 3}, {1, 1}, {2, 1}}));
    EXPECT_EQ(buses, (std::map<unsigned, std::string>{{0, "PCI   "}, {1, "ISA   "}}));
    EXPECT_EQ(io_apic, IoApic::place);
    EXPECT_EQ(local_interrupts,
              (std::vector<Interrupt>{{.type = 3, .bus = 1, .source = 0, .apic = 0, .pin = 0},
                                      {.type = 1, .bus = 1, .source = 0, .apic = 0xff, .pin = 1}}));
}

TEST_F(MpTable, HasRoomForAll) {
    pc.start_apics(LocalApics::most);
    read();
    EXPECT_EQ(processors.size(), 64U);
    EXPECT_EQ(processors.back(), std::pair(63U, 1U));
}

TEST_F(MpTable, LeadsEachLineToAPin) {
    pc.insert_balloon();
    pc.insert_disk({});
    pc.insert_disk({});
    pc.start_apics(1);
    read();
    const auto has = [&](unsigned bus, unsigned source, unsigned pin) {
        const Interrupt wanted{.type = 0,
                               .bus = static_cast<std::uint8_t>(bus),
                               .source = static_cast<std::uint8_t>(source),
                               .apic = 0,
                               .pin = static_cast<std::uint8_t>(pin)};
        return std::ranges::count(interrupts, wanted) == 1;
    };
    EXPECT_TRUE(has(1, 0, 2));
    EXPECT_TRUE(has(1, Pc::uart_irq, Pc::uart_irq));
    EXPECT_TRUE(has(1, Pc::rtc_irq, Pc::rtc_irq));
    EXPECT_TRUE(has(0, Pc::balloon_device << 2U, Pc::balloon_irq));
    EXPECT_TRUE(has(0, Pc::first_disk_device << 2U, Pc::disk_irq));
    EXPECT_TRUE(has(0, (Pc::first_disk_device + 1) << 2U, Pc::disk_irq));
    EXPECT_EQ(interrupts.size(), 16U - 1 - 2 + 3); // no cascade, and two lines are PCI's
}

} // namespace

} // namespace previrt
