// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt::nvme {

enum class SlotUse : std::uint8_t {
    free,
    read,
    write,
    durable_write,
    flush,
    write_zeroes,
    discard,        // of one range of a command
    discard_waits,  // for the medium's room
    shutdown_flush, // no command's
};

// A command that was taken and has not ended. The slot's number is the transfer's token.
struct Slot {
    std::uint64_t prp1 = 0;
    std::uint64_t prp2 = 0;
    // Of reads and writes, the bytes. Of flushes, `writes_ended` when it began. Of discards, the ranges.
    std::uint32_t amount = 0;
    std::uint16_t command = 0;
    std::uint8_t queue = 0;
    SlotUse use = SlotUse::free;

    [[nodiscard]] bool is_transfer() const { return use != SlotUse::free && use != SlotUse::discard_waits; }

    // Of a discard: the ranges in all, and the next of them.
    static constexpr std::uint32_t ranges(std::uint32_t next, std::uint32_t count) {
        return next | (count << 16U);
    }
    [[nodiscard]] std::uint32_t next_range() const { return amount & 0xffffU; }
    [[nodiscard]] std::uint32_t range_count() const { return amount >> 16U; }
};
static_assert(sizeof(Slot) == 24);

struct Slots {
    static constexpr std::uint32_t count = 128;
    static constexpr std::uint32_t per_word = 64;

    std::array<Slot, count> slots{};
    std::array<std::uint64_t, count / per_word> used{};
    std::uint32_t transfers = 0; // slots whose transfer the medium has
    std::uint32_t waiting = 0;   // discards that wait for its room

    [[nodiscard]] std::optional<std::uint32_t> find_free() const {
        for (std::uint32_t word = 0; word < used.size(); ++word) {
            if (~used[word] != 0) {
                return (word * per_word) + static_cast<std::uint32_t>(std::countr_one(used[word]));
            }
        }
        return std::nullopt;
    }
    // Gives the slot another use, or none.
    void put(std::uint32_t number, const Slot& slot) {
        count_use(slots[number], -1);
        slots[number] = slot;
        count_use(slot, 1);
        const std::uint64_t bit = std::uint64_t{1} << (number % per_word);
        std::uint64_t& word = used[number / per_word];
        word = slot.use == SlotUse::free ? word & ~bit : word | bit;
    }

private:
    void count_use(const Slot& slot, int change) {
        if (slot.is_transfer()) {
            transfers += static_cast<std::uint32_t>(change);
        } else if (slot.use == SlotUse::discard_waits) {
            waiting += static_cast<std::uint32_t>(change);
        }
    }
};

static_assert(std::is_trivially_copyable_v<Slots>);

} // namespace previrt::nvme
