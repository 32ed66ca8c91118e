// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/platform.hpp"

#include <random>

namespace previrt {
namespace {

constexpr std::uint8_t vector = 0x51;
constexpr unsigned timer_pin = 2;
constexpr std::uint64_t logical = 1U << 11U;
constexpr std::uint64_t remote_request = 1U << 14U;
constexpr std::uint64_t level = 1U << 15U;
constexpr std::uint64_t masked = 1U << 16U;

constexpr std::uint64_t to(std::uint8_t address) {
    return std::uint64_t{address} << 56U;
}

class IoApicTest : public Platform {
protected:
    void SetUp() override {
        Platform::SetUp();
        pc.start_apics(processors);
        out(Pc::uart_port + 4, 8); // OUT2 lets the line through
        for (unsigned i = 0; i < processors; ++i) {
            pc.local_apics.of(i).waits_for_start = false;
            write_local(i, apic_spurious_vector, 0x1ff);
        }
    }

    void write_local(unsigned processor, std::uint64_t offset, std::uint32_t value) {
        ASSERT_EQ(pc.write_memory({.processor = processor, .address = LocalApic::place + offset, .width = 4},
                                  value, now),
                  Pc::Written::local_apic);
    }
    void end(unsigned processor) { write_local(processor, apic_end_of_interrupt, 0); }

    static Pc::MemoryPlace at(std::uint64_t offset, unsigned width = 4) {
        return {.processor = 0, .address = IoApic::place + offset, .width = width};
    }
    std::uint32_t read(unsigned number) {
        EXPECT_EQ(pc.write_memory(at(0), number, now), Pc::Written::io_apic);
        return static_cast<std::uint32_t>(pc.read_memory(at(0x10), now).value_or(0xdeadbeef));
    }
    Pc::Written try_write(unsigned number, std::uint32_t value) {
        EXPECT_EQ(pc.write_memory(at(0), number, now), Pc::Written::io_apic);
        return pc.write_memory(at(0x10), value, now);
    }
    void write(unsigned number, std::uint32_t value) {
        ASSERT_EQ(try_write(number, value), Pc::Written::io_apic);
    }
    std::uint64_t entry(unsigned pin) {
        return read(0x10 + (2 * pin)) | std::uint64_t{read(0x11 + (2 * pin))} << 32U;
    }
    void set_entry(unsigned pin, std::uint64_t value) {
        write(0x10 + (2 * pin), masked);
        write(0x11 + (2 * pin), static_cast<std::uint32_t>(value >> 32U));
        write(0x10 + (2 * pin), static_cast<std::uint32_t>(value));
    }
    // By the UART, whose line this is.
    void set_uart(bool asserted) { out(Pc::uart_port + 1, asserted ? 2 : 0); }
    std::optional<std::uint8_t> take(unsigned processor = 0) {
        pc.advance(processor, now);
        return pc.interrupt_requested(processor) ? std::optional(pc.acknowledge(processor)) : std::nullopt;
    }

    static constexpr unsigned processors = 4;
};

TEST_F(IoApicTest, IsNotThereUnlessStarted) {
    pc.io_apic = {};
    EXPECT_FALSE(pc.read_memory(at(0), now));
    EXPECT_EQ(pc.write_memory(at(0), 0, now), Pc::Written::nothing);
    EXPECT_FALSE(pc.claims_memory(IoApic::place, 4));
}

TEST_F(IoApicTest, RegistersKeepTheirBitsOnly) {
    EXPECT_EQ(read(1), 0x00170020U);
    write(0, ~0U);
    EXPECT_EQ(read(0), 0x0f000000U);
    EXPECT_EQ(read(2), 0x0f000000U);
    write(1, 0); // read-only
    EXPECT_EQ(read(1), 0x00170020U);
    for (unsigned pin = 0; pin < IoApic::pins; ++pin) {
        EXPECT_EQ(entry(pin), masked);
        set_entry(pin, ~std::uint64_t{0});
        EXPECT_EQ(entry(pin), 0xffffffff0001afffU);
    }
    write(0x40, 0x1234); // there is no such register
    EXPECT_EQ(read(0x40), 0U);
    EXPECT_EQ(read(3), 0U);
}

TEST_F(IoApicTest, AnswersWholeRegistersOnly) {
    for (const unsigned width : {1U, 2U, 8U}) {
        EXPECT_FALSE(pc.read_memory(at(0, width), now));
        EXPECT_EQ(pc.write_memory(at(0, width), 0, now), Pc::Written::nothing);
    }
    EXPECT_FALSE(pc.read_memory(at(0x20), now));
    EXPECT_EQ(pc.write_memory(at(0x20), 0, now), Pc::Written::nothing);
    EXPECT_TRUE(pc.claims_memory(IoApic::place + IoApic::place_bytes - 1, 1));
    EXPECT_FALSE(pc.claims_memory(IoApic::place + IoApic::place_bytes, 1));
}

TEST_F(IoApicTest, EdgeMakesOneInterrupt) {
    set_entry(Pc::uart_irq, to(0) | vector);
    set_uart(true);
    EXPECT_EQ(take(), vector);
    end(0);
    EXPECT_EQ(take(), std::nullopt);
    set_uart(false);
    set_uart(true);
    EXPECT_EQ(take(), vector);
}

TEST_F(IoApicTest, EdgeIsLostWhileMasked) {
    set_uart(true);
    set_entry(Pc::uart_irq, to(0) | vector);
    EXPECT_EQ(take(), std::nullopt);
    set_uart(false);
    set_uart(true);
    EXPECT_EQ(take(), vector);
}

TEST_F(IoApicTest, LevelComesAgainUntilItFalls) {
    set_uart(true);
    set_entry(Pc::uart_irq, to(0) | level | vector);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, remote_request);
    EXPECT_EQ(take(), vector);
    EXPECT_EQ(take(), std::nullopt);
    end(0);
    EXPECT_EQ(take(), vector);
    set_uart(false);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, remote_request);
    end(0);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, 0U);
    EXPECT_EQ(take(), std::nullopt);
}

TEST_F(IoApicTest, TriggerModeIsKeptWithTheRequest) {
    const auto mode = [&] {
        return pc.read_memory(
                     {.processor = 0,
                      .address = LocalApic::place + apic_trigger_mode + (vector / 32U * std::uint64_t{0x10}),
                      .width = 4},
                     now)
                       .value() >>
                   (vector % 32U) &
               1U;
    };
    set_entry(Pc::uart_irq, to(0) | level | vector);
    set_uart(true);
    EXPECT_EQ(mode(), 1U);
    EXPECT_EQ(take(), vector);
    set_uart(false);
    end(0);
    write_local(0, apic_command_low, 1U << 18U | vector);
    EXPECT_EQ(mode(), 0U);
}

TEST_F(IoApicTest, InterruptEndsInThreeWays) {
    const auto begin = [&] {
        set_entry(Pc::uart_irq, to(0) | level | vector);
        set_uart(true);
        EXPECT_EQ(take(), vector);
        set_uart(false);
        EXPECT_EQ(entry(Pc::uart_irq) & remote_request, remote_request);
    };
    begin();
    ASSERT_EQ(pc.write_memory(at(0x40), vector + 1, now), Pc::Written::io_apic);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, remote_request);
    ASSERT_EQ(pc.write_memory(at(0x40), vector, now), Pc::Written::io_apic);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, 0U);
    end(0);
    begin();
    write(0x10 + (2 * Pc::uart_irq), masked | vector); // edge triggered for a moment
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, 0U);
    end(0);
    begin();
    end(0);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, 0U);
}

TEST_F(IoApicTest, TimerIsAtPin2) {
    set_entry(timer_pin, to(0) | vector);
    EXPECT_TRUE(pc.next_event(0));
    sleep();
    EXPECT_EQ(take(), vector);
    end(0);
    EXPECT_EQ(take(), std::nullopt);
    sleep();
    EXPECT_EQ(take(), vector);
    EXPECT_EQ(pc.lost_timer_edges, 0U);
    end(0);
    now += second; // many edges, one interrupt
    EXPECT_EQ(take(), vector);
    end(0);
    EXPECT_EQ(take(), std::nullopt);
    set_entry(timer_pin, masked);
    write_local(0, apic_pin0_vector, std::uint32_t{local_vector_masked} | deliver_external);
    EXPECT_FALSE(pc.next_event(0));
}

TEST_F(IoApicTest, MessagesGoToTheirProcessors) {
    const auto arrives_at = [&](std::uint64_t value) {
        pc.local_apics.notified = 0;
        set_uart(false);
        set_entry(Pc::uart_irq, value | vector);
        set_uart(true);
        std::uint64_t taken = 0;
        for (unsigned i = 0; i < processors; ++i) {
            if (take(i) == vector) {
                taken |= std::uint64_t{1} << i;
                end(i);
            }
        }
        EXPECT_EQ(taken, pc.local_apics.notified);
        return taken;
    };
    EXPECT_EQ(arrives_at(to(2)), 4U);
    EXPECT_EQ(arrives_at(to(9)), 0U);
    EXPECT_EQ(arrives_at(to(0xff)), 0xfU);
    for (unsigned i = 0; i < processors; ++i) {
        write_local(i, apic_logical_destination, 0x1000000U << i);
    }
    EXPECT_EQ(arrives_at(to(0x6) | logical), 6U);
    write_local(1, apic_task_priority, 0x20);
    EXPECT_EQ(arrives_at(to(0x6) | logical | deliver_lowest_priority), 4U);
    write_local(1, apic_task_priority, 0);
    EXPECT_EQ(arrives_at(to(0x6) | logical | deliver_lowest_priority), 2U);
}

TEST_F(IoApicTest, NmiIsAnEdge) {
    set_entry(Pc::uart_irq, to(1) | level | deliver_nmi);
    set_uart(true);
    EXPECT_TRUE(pc.local_apics.of(1).nmi_requested);
    EXPECT_EQ(entry(Pc::uart_irq) & remote_request, 0U);
}

TEST_F(IoApicTest, OtherModesAreNotModelledUnlessMasked) {
    for (const std::uint32_t mode : {deliver_system_management, deliver_init, deliver_external}) {
        write(0x10 + (2 * Pc::uart_irq), masked | mode);
        EXPECT_EQ(try_write(0x10 + (2 * Pc::uart_irq), mode), Pc::Written::nothing);
        EXPECT_EQ(entry(Pc::uart_irq), masked | mode);
    }
}

TEST_F(IoApicTest, The8259sSeeTheSameLines) {
    initialize_pics(0x0010);
    set_entry(Pc::uart_irq, to(1) | vector);
    set_uart(true);
    EXPECT_EQ(take(1), vector);
    EXPECT_EQ(take(0), timer_vector + 4);
}

// Whatever a guest does: a level that is asserted and not masked either waits for the end of its interrupt or
// is requested, and there is no undefined behaviour (sanitizers).
class AnyIoApicAccess : public IoApicTest, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(AnyIoApicAccess, LosesNoLevel) {
    std::mt19937_64 random(GetParam());
    for (unsigned step = 0; step < 20'000; ++step) {
        const auto value = static_cast<std::uint32_t>(random() >> (random() % 48));
        switch (random() % 6) {
        case 0:
            pc.write_memory(at(random() % 0x60), value, now);
            break;
        case 1:
            pc.read_memory(at(random() % 0x60), now);
            break;
        case 2:
            try_write(0x10 + static_cast<unsigned>(random() % 0x30), value & 0x1ffffU);
            break;
        case 3:
            set_uart(random() % 2 == 0);
            break;
        case 4:
            now += random() % (100 * microsecond);
            break;
        default:
            for (unsigned i = 0; i < processors; ++i) {
                if (take(i)) {
                    end(i);
                }
            }
        }
        ASSERT_EQ(pc.io_apic.ready, 0U);
        const std::uint64_t uart = entry(Pc::uart_irq);
        const bool is_level = (uart & level) != 0 && (uart & local_vector_mode) != deliver_nmi;
        if (pc.uart.line() && is_level && (uart & masked) == 0) {
            ASSERT_EQ(uart & remote_request, remote_request);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyIoApicAccess, testing::Range(0U, 4U));

} // namespace
} // namespace previrt
