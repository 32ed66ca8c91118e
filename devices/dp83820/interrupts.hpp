// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt::dp83820 {

// ISR, IMR, IER and IHR, and the resulting INTx.
struct Interrupts {
    // The pause between the guest's read of ISR and the next interrupt. Without it, Linux never leaves an
    // interrupt handler that enables a receiver whose ring is full. Each interrupt for that reason alone
    // doubles the pause: a slow guest needs longer before it empties its ring.
    std::uint64_t least_pause = 20'000;
    static constexpr std::uint32_t most_doublings = 5;
    // The same for interrupts that only report sent frames, which the guest only frees. A guest with other
    // work requests them by descriptor when it needs room.
    std::uint64_t sent_pause = 100'000;
    std::uint64_t busy_sent_pause = 1'000'000;
    bool processor_rests = true; // as far as is known

    std::uint32_t status = 0; // without HIBINT
    std::uint32_t mask = 0;
    bool enabled = false;
    std::uint32_t holdoff = 0;            // IHR
    bool fast_timer = false;              // CFG.TMRTEST
    std::optional<std::uint64_t> read_at; // ISR
    std::uint32_t doublings = 0;
    std::uint64_t held_until = 0; // by IHR

    void reset();
    void raise(std::uint32_t bits, std::uint64_t now);
    // ISR is clear then.
    std::uint32_t read_status(std::uint64_t now);
    void write_mask(std::uint32_t value, std::uint64_t now);
    void write_enable(std::uint32_t value, std::uint64_t now);
    void write_holdoff(std::uint32_t value);

    [[nodiscard]] bool line(std::uint64_t now) const { return pending() && now >= opens_at(); }
    // The time at which the line rises by itself.
    [[nodiscard]] std::optional<std::uint64_t> next_event(std::uint64_t now) const;

private:
    [[nodiscard]] std::uint32_t raw_status() const;
    [[nodiscard]] bool pending() const { return enabled && (raw_status() & mask) != 0; }
    [[nodiscard]] std::uint64_t pause() const;
    [[nodiscard]] std::uint64_t opens_at() const;
    [[nodiscard]] std::uint64_t holdoff_time() const;
    void note_first(bool was_pending, std::uint64_t now);
};

} // namespace previrt::dp83820
