// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/platform.hpp"

#include <cstring>
#include <iterator>
#include <memory>
#include <random>

namespace previrt {
namespace {

constexpr std::uint8_t vector = 0x51;
constexpr std::uint8_t same_class = 0x5f;
constexpr std::uint8_t high_vector = 0x91;
constexpr std::uint32_t to_self = 1U << 18U;
constexpr std::uint32_t periodic = 1U << 17U;
constexpr std::uint32_t by_deadline = 2U << 17U;
constexpr std::uint32_t divide_by_1 = 0xb;
constexpr std::uint32_t masked = local_vector_masked;

class LocalApicTest : public Platform {
protected:
    void SetUp() override {
        Platform::SetUp();
        pc.start_apics(1);
    }

    std::uint32_t read(std::uint64_t offset) {
        const std::optional<std::uint64_t> value =
            pc.read_memory({.processor = 0, .address = LocalApic::place + offset, .width = 4}, now);
        EXPECT_TRUE(value) << std::hex << offset;
        return static_cast<std::uint32_t>(value.value_or(0xdeadbeef));
    }
    void write(std::uint64_t offset, std::uint32_t value) {
        ASSERT_EQ(
            pc.write_memory({.processor = 0, .address = LocalApic::place + offset, .width = 4}, value, now),
            Pc::Written::local_apic)
            << std::hex << offset;
    }
    void send(std::uint8_t to) { write(apic_command_low, to_self | to); }
    bool is_set(std::uint64_t first, std::uint8_t which) {
        return (read(first + (which / 32U * std::uint64_t{0x10})) >> (which % 32U) & 1U) != 0;
    }
    // Nothing: none is asked for. It is not ended.
    std::optional<std::uint8_t> take() {
        pc.advance(Pc::boot_processor, now);
        return pc.interrupt_requested(Pc::boot_processor) ? std::optional(pc.acknowledge(Pc::boot_processor))
                                                          : std::nullopt;
    }
    void end() { write(apic_end_of_interrupt, 0); }
};

TEST_F(LocalApicTest, IsNotThereUnlessStarted) {
    pc.local_apics = {};
    EXPECT_FALSE(
        pc.read_memory({.processor = 0, .address = LocalApic::place + apic_version, .width = 4}, now));
    EXPECT_EQ(pc.write_memory({.processor = 0, .address = LocalApic::place + apic_task_priority, .width = 4},
                              0, now),
              Pc::Written::nothing);
    EXPECT_TRUE(pc.local_apics.of(Pc::boot_processor).passes_external());
}

TEST_F(LocalApicTest, AnswersWholeRegistersOnly) {
    for (const unsigned width : {1U, 2U, 8U}) {
        EXPECT_FALSE(pc.read_memory(
            {.processor = 0, .address = LocalApic::place + apic_version, .width = width}, now));
        EXPECT_EQ(pc.write_memory(
                      {.processor = 0, .address = LocalApic::place + apic_version, .width = width}, 0, now),
                  Pc::Written::nothing);
    }
    EXPECT_FALSE(
        pc.read_memory({.processor = 0, .address = LocalApic::place + apic_version + 4, .width = 4}, now));
    EXPECT_FALSE(pc.read_memory({.processor = 0, .address = LocalApic::place - 4, .width = 4}, now));
    EXPECT_FALSE(pc.read_memory(
        {.processor = 0, .address = LocalApic::place + LocalApic::place_bytes, .width = 4}, now));
}

TEST_F(LocalApicTest, BeginsAsFirmwareLeavesIt) {
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).base,
              LocalApic::place | base_enabled | base_boot_processor);
    EXPECT_EQ(read(apic_version), 0x00050014U);
    EXPECT_EQ(read(apic_spurious_vector), 0x1ffU);
    EXPECT_EQ(read(apic_pin0_vector), 0x700U);
    EXPECT_EQ(read(apic_timer_vector), 0x10000U);
    EXPECT_EQ(read(apic_destination_format), ~0U);
    initialize_pics(0x0010);
    pc.pic.set_line(4, true);
    EXPECT_EQ(take(), timer_vector + 4);
}

TEST_F(LocalApicTest, RegistersKeepTheirBitsOnly) {
    for (const auto& [offset, bits] : {std::pair<std::uint64_t, std::uint32_t>{apic_id, 0xff000000},
                                       {apic_task_priority, 0xff},
                                       {apic_logical_destination, 0xff000000},
                                       {apic_command_high, 0xff000000},
                                       {apic_initial_count, 0xffffffff},
                                       {apic_divide, 0xb},
                                       {apic_error_vector, 0x100ff},
                                       {apic_thermal_vector, 0x107ff},
                                       {apic_pin1_vector, 0x1a7ff}}) {
        write(offset, ~0U);
        EXPECT_EQ(read(offset), bits) << std::hex << offset;
        write(offset, 0);
        EXPECT_EQ(read(offset), 0U) << std::hex << offset;
    }
}

TEST_F(LocalApicTest, RequestIsServedAndEnded) {
    send(vector);
    EXPECT_TRUE(is_set(apic_request, vector));
    EXPECT_EQ(take(), vector);
    EXPECT_FALSE(is_set(apic_request, vector));
    EXPECT_TRUE(is_set(apic_in_service, vector));
    EXPECT_EQ(read(apic_processor_priority), vector & 0xf0U);
    EXPECT_EQ(take(), std::nullopt);
    end();
    EXPECT_FALSE(is_set(apic_in_service, vector));
    EXPECT_EQ(read(apic_processor_priority), 0U);
    end(); // of nothing
}

TEST_F(LocalApicTest, ItsClassAndLowerOnesWait) {
    send(vector);
    ASSERT_EQ(take(), vector);
    send(same_class);
    EXPECT_EQ(take(), std::nullopt);
    send(high_vector);
    EXPECT_EQ(take(), high_vector);
    end();
    EXPECT_EQ(take(), std::nullopt);
    end();
    EXPECT_EQ(take(), same_class);
}

TEST_F(LocalApicTest, TaskPriorityHoldsOff) {
    write(apic_task_priority, 0x5f);
    EXPECT_EQ(read(apic_processor_priority), 0x5fU);
    send(vector);
    EXPECT_EQ(take(), std::nullopt);
    write(apic_task_priority, 0x4f);
    EXPECT_EQ(take(), vector);
    EXPECT_EQ(read(apic_processor_priority), 0x50U);
    write(apic_task_priority, 0x53);
    EXPECT_EQ(read(apic_processor_priority), 0x53U);
}

TEST_F(LocalApicTest, EveryVectorArrives) {
    for (unsigned each = 16; each < 256; ++each) {
        send(static_cast<std::uint8_t>(each));
    }
    for (unsigned each = 255; each >= 16; --each) {
        ASSERT_EQ(take(), each);
        end();
    }
}

TEST_F(LocalApicTest, IllegalVectorsAreErrors) {
    write(apic_error_vector, 0xfe);
    send(15);
    EXPECT_EQ(take(), 0xfe);
    EXPECT_EQ(read(apic_error_status), 0U); // until it is written
    write(apic_error_status, 0);
    EXPECT_EQ(read(apic_error_status), std::uint32_t{error_send_illegal_vector});
    write(apic_error_status, 0);
    EXPECT_EQ(read(apic_error_status), 0U);
    read(0x3a0);
    write(0x10, 0);
    write(apic_error_status, 0);
    EXPECT_EQ(read(apic_error_status), std::uint32_t{error_illegal_register});
    write(apic_timer_vector, 3);
    write(apic_divide, divide_by_1);
    write(apic_initial_count, 1);
    ++now;
    write(apic_error_status, 0);
    EXPECT_EQ(read(apic_error_status), std::uint32_t{error_receive_illegal_vector});
}

TEST_F(LocalApicTest, CommandsReachWhomTheyAreFor) {
    constexpr std::uint32_t logical = 1U << 11U;
    const auto arrives = [&](std::uint32_t high, std::uint32_t low) {
        write(apic_command_high, high);
        write(apic_command_low, low | vector);
        const bool came = take() == vector;
        end();
        return came;
    };
    write(apic_id, 0x03000000);
    write(apic_logical_destination, 0x12000000);
    EXPECT_TRUE(arrives(0x03000000, 0));
    EXPECT_FALSE(arrives(0x02000000, 0));
    EXPECT_TRUE(arrives(0xff000000, 0));
    EXPECT_TRUE(arrives(0x10000000, logical));
    EXPECT_FALSE(arrives(0x20000000, logical));
    EXPECT_TRUE(arrives(0x10000000, logical | deliver_lowest_priority));
    write(apic_destination_format, 0x0fffffff); // clusters
    EXPECT_TRUE(arrives(0x12000000, logical));
    EXPECT_FALSE(arrives(0x22000000, logical));
    EXPECT_FALSE(arrives(0x14000000, logical));
    EXPECT_TRUE(arrives(0xf2000000, logical));
    EXPECT_TRUE(arrives(0, 1U << 18U));
    EXPECT_TRUE(arrives(0, 2U << 18U));
    EXPECT_FALSE(arrives(0xff000000, 3U << 18U));
    write(apic_command_low, 3U << 18U | 1U << 14U | deliver_init); // as to start other processors
    write(apic_command_low, 3U << 18U | deliver_start);
    EXPECT_EQ(take(), std::nullopt);
    write(apic_command_low, to_self | deliver_nmi);
    EXPECT_TRUE(pc.local_apics.of(Pc::boot_processor).nmi_requested);
}

TEST_F(LocalApicTest, PinPassesThe8259s) {
    initialize_pics(0x0010);
    write(apic_task_priority, 0xff);
    pc.pic.set_line(4, true);
    EXPECT_TRUE(pc.interrupt_requested(Pc::boot_processor));
    write(apic_pin0_vector, masked | deliver_external);
    EXPECT_FALSE(pc.interrupt_requested(Pc::boot_processor));
    write(apic_pin0_vector, deliver_external);
    EXPECT_EQ(take(), timer_vector + 4);
    EXPECT_EQ(pc.write_memory({.processor = 0, .address = LocalApic::place + apic_pin0_vector, .width = 4},
                              vector, now),
              Pc::Written::nothing);
}

TEST_F(LocalApicTest, MaskedPinNeedsNoEvents) {
    initialize_pics(0x0001);
    EXPECT_TRUE(pc.next_event(Pc::boot_processor));
    write(apic_pin0_vector, masked | deliver_external);
    EXPECT_FALSE(pc.next_event(Pc::boot_processor));
}

TEST_F(LocalApicTest, SwitchedOffItMasksItsVectors) {
    write(apic_timer_vector, vector);
    write(apic_spurious_vector, 0xff);
    EXPECT_EQ(read(apic_timer_vector), local_vector_masked | vector);
    write(apic_timer_vector, vector);
    EXPECT_EQ(read(apic_timer_vector), local_vector_masked | vector);
    EXPECT_FALSE(pc.local_apics.of(Pc::boot_processor).passes_external());
    write(apic_spurious_vector, 0x1ff);
    write(apic_timer_vector, vector);
    EXPECT_EQ(read(apic_timer_vector), vector);
}

TEST_F(LocalApicTest, BaseRegister) {
    using Write = LocalApic::BaseWrite;
    LocalApic& apic = pc.local_apics.of(Pc::boot_processor);
    const std::uint64_t base = apic.base;
    EXPECT_EQ(apic.write_base(base | base_x2apic), Write::refused);
    EXPECT_EQ(apic.write_base(base | 1U), Write::refused);
    EXPECT_EQ(apic.write_base(base + LocalApic::place_bytes), Write::not_modelled);
    EXPECT_EQ(apic.base, base);
    write(apic_task_priority, 0x80);
    EXPECT_EQ(apic.write_base(base), Write::done);
    EXPECT_EQ(read(apic_task_priority), 0x80U);
    EXPECT_EQ(apic.write_base(base & ~std::uint64_t{base_enabled}), Write::done);
    EXPECT_FALSE(
        pc.read_memory({.processor = 0, .address = LocalApic::place + apic_version, .width = 4}, now));
    EXPECT_TRUE(apic.passes_external());
    EXPECT_EQ(apic.write_base(base), Write::done);
    EXPECT_EQ(read(apic_task_priority), 0U);
    EXPECT_EQ(read(apic_spurious_vector), 0xffU);
    EXPECT_FALSE(apic.passes_external());
}

TEST_F(LocalApicTest, OneShot) {
    write(apic_timer_vector, vector);
    write(apic_divide, divide_by_1);
    write(apic_initial_count, 1000);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), now + 1000);
    now += 400;
    EXPECT_EQ(read(apic_current_count), 600U);
    now += 599;
    EXPECT_EQ(take(), std::nullopt);
    ++now;
    EXPECT_EQ(take(), vector);
    EXPECT_EQ(read(apic_current_count), 0U);
    EXPECT_EQ(read(apic_initial_count), 1000U);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), std::nullopt);
    write(apic_initial_count, 1000);
    write(apic_initial_count, 0);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), std::nullopt);
}

TEST_F(LocalApicTest, Dividers) {
    constexpr std::pair<std::uint32_t, unsigned> dividers[] = {{0, 2},  {1, 4},  {2, 8},    {3, 16},
                                                               {8, 32}, {9, 64}, {10, 128}, {11, 1}};
    write(apic_timer_vector, vector);
    for (const auto& [value, by] : dividers) {
        write(apic_divide, value);
        write(apic_initial_count, 100);
        EXPECT_EQ(pc.next_event(Pc::boot_processor), now + (std::uint64_t{100} * by));
        now += std::uint64_t{40} * by;
        EXPECT_EQ(read(apic_current_count), 60U);
    }
    write(apic_divide, 0); // what is left, is left
    EXPECT_EQ(read(apic_current_count), 60U);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), now + 120);
}

TEST_F(LocalApicTest, Periodic) {
    write(apic_timer_vector, periodic | vector);
    write(apic_divide, divide_by_1);
    write(apic_initial_count, 1000);
    const std::uint64_t start = now;
    for (unsigned i = 1; i < 10; ++i) {
        EXPECT_EQ(pc.next_event(Pc::boot_processor), start + (std::uint64_t{1000} * i));
        now = start + (std::uint64_t{1000} * i);
        EXPECT_EQ(take(), vector);
        EXPECT_EQ(read(apic_current_count), 1000U);
        end();
    }
    now += 12'345; // one interrupt for all that were missed, and the phase stays
    EXPECT_EQ(take(), vector);
    end();
    EXPECT_EQ(take(), std::nullopt);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), start + 22'000);
}

TEST_F(LocalApicTest, MaskedTimerIsLost) {
    write(apic_timer_vector, local_vector_masked | vector);
    write(apic_divide, divide_by_1);
    write(apic_initial_count, 1000);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), std::nullopt);
    now += 2000;
    EXPECT_EQ(take(), std::nullopt);
    write(apic_timer_vector, vector);
    EXPECT_EQ(take(), std::nullopt);
}

TEST_F(LocalApicTest, Deadline) {
    LocalApic& apic = pc.local_apics.of(Pc::boot_processor);
    apic.write_deadline(77, now + 10);
    EXPECT_EQ(apic.deadline(), 0U); // in another mode
    write(apic_timer_vector, by_deadline | vector);
    write(apic_initial_count, 1000);
    EXPECT_EQ(read(apic_initial_count), 0U);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), std::nullopt);
    apic.write_deadline(77, now + 10);
    EXPECT_EQ(apic.deadline(), 77U);
    EXPECT_EQ(pc.next_event(Pc::boot_processor), now + 10);
    EXPECT_EQ(read(apic_current_count), 0U);
    now += 9;
    EXPECT_EQ(take(), std::nullopt);
    ++now;
    EXPECT_EQ(take(), vector);
    EXPECT_EQ(apic.deadline(), 0U);
    end();
    apic.write_deadline(78, now);
    EXPECT_EQ(take(), vector);
    end();
    apic.write_deadline(79, now + 10);
    apic.write_deadline(0, now);
    now += 10;
    EXPECT_EQ(take(), std::nullopt);
    apic.write_deadline(80, now + 10);
    write(apic_timer_vector, vector); // the mode takes it along
    write(apic_timer_vector, by_deadline | vector);
    EXPECT_EQ(apic.deadline(), 0U);
    now += 10;
    EXPECT_EQ(take(), std::nullopt);
}

// Whatever a guest does: no undefined behaviour (sanitizers), what is asked for is above the processor's
// priority, and a timer that is announced comes, at its time.
class AnyAccess : public LocalApicTest, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(AnyAccess, FindsAnApicThatHolds) {
    std::mt19937_64 random(GetParam());
    unsigned announced = 0;
    unsigned taken = 0;
    LocalApic& apic = pc.local_apics.of(Pc::boot_processor);
    for (unsigned step = 0; step < 50'000; ++step) {
        const std::uint64_t place = LocalApic::place + (random() % 0x41 * 0x10);
        const auto value = static_cast<std::uint32_t>(random() >> (random() % 64));
        switch (random() % 8) {
        case 0:
        case 1:
            pc.write_memory({.processor = 0, .address = place, .width = 4}, value, now);
            break;
        case 2:
            pc.read_memory({.processor = 0, .address = place, .width = 4}, now);
            break;
        case 3:
            end();
            if (random() % 4 == 0) {
                write(apic_task_priority, 0);
                write(apic_spurious_vector, 0x1ff);
            }
            break;
        case 4:
            write(apic_timer_vector, static_cast<std::uint32_t>(random() % 3) << 17U | (value & 0xffU));
            write(apic_initial_count, value);
            apic.write_deadline(value, now + (value % 10'000));
            break;
        case 5:
            pc.advance(Pc::boot_processor, now);
            if (const auto asked = apic.highest_request()) {
                ASSERT_GT(*asked & 0xf0U, read(apic_processor_priority) & 0xf0U);
                ASSERT_EQ(pc.acknowledge(Pc::boot_processor), *asked);
                ASSERT_TRUE(is_set(apic_in_service, *asked));
                ++taken;
            }
            break;
        case 6:
            if (random() % 64 != 0) {
                send(static_cast<std::uint8_t>(random()));
                break;
            }
            apic.write_base(random() % 2 == 0 ? random() : LocalApic::place | base_boot_processor);
            apic.write_base(LocalApic::place | base_boot_processor | base_enabled);
            pc.write_memory({.processor = 0, .address = LocalApic::place + apic_spurious_vector, .width = 4},
                            0x1ff, now);
            break;
        default:
            pc.advance(Pc::boot_processor, now);
            if (const auto event = apic.next_event()) {
                ASSERT_GT(*event, now);
                const auto entry = static_cast<std::uint8_t>(read(apic_timer_vector));
                if (*event - now < second && !is_set(apic_request, entry) && entry >= 16) {
                    pc.advance(Pc::boot_processor, *event - 1);
                    ASSERT_FALSE(is_set(apic_request, entry));
                    pc.advance(Pc::boot_processor, *event);
                    now = *event;
                    ASSERT_TRUE(is_set(apic_request, entry));
                    ++announced;
                }
            }
        }
        now += random() % 5000;
    }
    EXPECT_GT(announced, 50U);
    EXPECT_GT(taken, 500U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyAccess, testing::Range(1U, 4U));

TEST_F(LocalApicTest, StateIsItsBytes) {
    write(apic_timer_vector, periodic | vector);
    write(apic_initial_count, 1000);
    const auto copy = std::make_unique<Pc>();
    std::memcpy(copy.get(), &pc, sizeof(Pc));
    EXPECT_EQ(copy->next_event(Pc::boot_processor), pc.next_event(Pc::boot_processor));
    copy->advance(Pc::boot_processor, now + second);
    pc.advance(Pc::boot_processor, now + second);
    EXPECT_EQ(copy->acknowledge(Pc::boot_processor), pc.acknowledge(Pc::boot_processor));
}

} // namespace
} // namespace previrt
