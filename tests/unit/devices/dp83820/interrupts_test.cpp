// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;

constexpr std::uint64_t unit = 100'000; // of IHR
constexpr std::uint64_t pause = 20'000;

class Line : public CardTest {
protected:
    void software_interrupt() { card.write(at::cr, cr_swi); }
    void enable() {
        card.write(at::imr, isr_swi);
        card.write(at::ier, 1);
    }
    [[nodiscard]] std::optional<std::uint64_t> next_event() const { return card.nic.next_event(card.now); }
};

TEST_F(Line, NeedsACauseItsMaskAndIer) {
    software_interrupt();
    EXPECT_FALSE(card.line());
    card.write(at::ier, 1);
    EXPECT_FALSE(card.line());
    card.write(at::imr, isr_swi); // a cause that was there before
    EXPECT_TRUE(card.line());
    card.write(at::ier, 0);
    EXPECT_FALSE(card.line());
    card.write(at::ier, 0xffff'ffff);
    EXPECT_EQ(card.read(at::ier), 1U);
    EXPECT_TRUE(card.line());
    EXPECT_FALSE(next_event());
    EXPECT_EQ(card.read(at::isr), isr_swi);
    EXPECT_FALSE(card.line());
    EXPECT_EQ(card.read(at::isr), 0U);
}

TEST_F(Line, IsrTellsWhatIsMaskedToo) {
    software_interrupt();
    EXPECT_EQ(card.read(at::isr), isr_swi);
    card.write(at::imr, 0xffff'ffff);
    EXPECT_EQ(card.read(at::imr), isr_all);
}

TEST_F(Line, RisesAgainOnlyAfterAPause) {
    enable();
    software_interrupt();
    EXPECT_TRUE(card.line());
    card.read(at::isr);
    software_interrupt();
    EXPECT_FALSE(card.line());
    EXPECT_EQ(next_event(), card.now + pause);
    card.now += pause;
    EXPECT_TRUE(card.line());
    EXPECT_FALSE(next_event());
    card.read(at::isr);
    EXPECT_FALSE(next_event()); // nothing to wait for
    card.nic.interrupts.least_pause = 0;
    card.now += pause;
    card.read(at::isr);
    software_interrupt();
    EXPECT_TRUE(card.line());
}

// A guest too slow for the usual pause.
TEST_F(Line, IdleReceiversAloneProlongThePause) {
    card.write(at::imr, isr_rxidle);
    card.write(at::ier, 1);
    const auto find_no_descriptor = [&] {
        layout.write(card.ram, receive_at(0), 0, 0, cmdsts_own);
        card.write(at::rxdp, receive_at(0));
        enable_receiver();
    };
    find_no_descriptor();
    EXPECT_EQ(card.read(at::isr), isr_rxidle);
    std::uint64_t wanted = 2 * pause;
    for (unsigned i = 0; i < 20; ++i) {
        find_no_descriptor();
        EXPECT_EQ(next_event(), card.now + wanted);
        card.now += wanted;
        EXPECT_TRUE(card.line());
        EXPECT_EQ(card.read(at::isr), isr_rxidle);
        wanted = std::min(2 * wanted, pause << Interrupts::most_doublings);
    }
    find_no_descriptor();
    software_interrupt();
    EXPECT_EQ(card.read(at::isr), isr_rxidle | isr_swi);
    find_no_descriptor();
    EXPECT_EQ(next_event(), card.now + pause);
}

// What is more comes after the usual pause.
TEST_F(Line, FramesThatHaveGoneWaitLonger) {
    const std::uint64_t sent_pause = card.nic.interrupts.sent_pause;
    ASSERT_GT(sent_pause, pause);
    card.write(at::imr, isr_txok | isr_txidle | isr_swi);
    card.write(at::ier, 1);
    card.read(at::isr);
    card.nic.interrupts.raise(isr_txok | isr_txidle, card.now);
    EXPECT_EQ(next_event(), card.now + sent_pause);
    card.nic.interrupts.processor_rests = false;
    ASSERT_GT(card.nic.interrupts.busy_sent_pause, sent_pause);
    EXPECT_EQ(next_event(), card.now + card.nic.interrupts.busy_sent_pause);
    card.now += pause;
    EXPECT_FALSE(card.line());
    software_interrupt();
    EXPECT_TRUE(card.line());
}

TEST_F(Line, IhrHoldsOffAfterAReadOfIsr) {
    card.write(at::ihr, 3);
    EXPECT_EQ(card.read(at::ihr), 3U);
    enable();
    software_interrupt();
    EXPECT_TRUE(card.line());
    card.read(at::isr);
    card.now += 10'000;
    software_interrupt();
    EXPECT_FALSE(card.line());
    EXPECT_EQ(next_event(), card.now - 10'000 + (3 * unit));
    card.now += (3 * unit) - 10'000;
    EXPECT_TRUE(card.line());
}

TEST_F(Line, IhctlHoldsOffFromTheFirstCause) {
    card.write(at::ihr, ihr_ihctl | 2);
    enable();
    software_interrupt();
    EXPECT_FALSE(card.line());
    EXPECT_EQ(next_event(), card.now + (2 * unit));
    card.now += unit;
    software_interrupt(); // another does not prolong it
    EXPECT_EQ(next_event(), card.now + unit);
    card.now += unit;
    EXPECT_TRUE(card.line());
    card.read(at::isr);
    card.now += pause;
    software_interrupt();
    EXPECT_EQ(next_event(), card.now + (2 * unit));
}

TEST_F(Line, WritingNoHoldoffFlushesTheTimer) {
    card.write(at::ihr, 255);
    enable();
    card.read(at::isr);
    card.now += pause;
    software_interrupt();
    EXPECT_FALSE(card.line());
    for (const std::uint32_t value : {0x000U, 0x100U, 0x000U}) { // as Linux does
        card.write(at::ihr, value);
    }
    EXPECT_TRUE(card.line());
}

TEST_F(Line, TmrtestShortensTheHoldoff) {
    card.set(at::cfg, cfg_tmrtest);
    card.write(at::ihr, 100);
    enable();
    card.read(at::isr);
    software_interrupt();
    ASSERT_TRUE(next_event());
    EXPECT_LT(*next_event(), card.now + (100 * unit));
    EXPECT_GT(*next_event(), card.now);
}

TEST_F(Line, HibintStandsForTheHigherBits) {
    card.write(at::cr, cr_txr);
    card.write(at::imr, isr_hibint);
    card.write(at::ier, 1);
    EXPECT_TRUE(card.line());
    EXPECT_EQ(card.read(at::isr), isr_txrcmp | isr_hibint);
}

TEST_F(Line, OneInterruptForABatch) {
    card.write(at::imr, isr_rxdesc | isr_rxok);
    card.write(at::ier, 1);
    for (unsigned i = 0; i < 50; ++i) {
        give_to_receive(i, 1514, cmdsts_intr);
    }
    enable_receiver();
    unsigned rises = 0;
    bool before = false;
    for (unsigned i = 0; i < 50; ++i) {
        EXPECT_TRUE(card.receive(plain_frame(60)));
        rises += card.line() && !before ? 1 : 0;
        before = card.line();
    }
    EXPECT_EQ(rises, 1U);
    EXPECT_EQ(card.read(at::isr) & (isr_rxdesc | isr_rxok), isr_rxdesc | isr_rxok);
    EXPECT_FALSE(card.line());
}

} // namespace
} // namespace previrt
