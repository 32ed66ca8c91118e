// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The 8254's counter as its data sheet tells it, one CLK pulse after the other: the oracle for Counter.
// Counts of 1 are not for modes 2 and 3.
struct SlowCounter {
    unsigned mode = 0;
    std::uint32_t modulus = 0x1'0000;
    std::uint32_t count_register = 0; // 1 to modulus
    std::uint32_t counting_element = 0;
    std::uint32_t in_force = 0; // mode 3: the count of this half
    bool gate = true;
    bool out = false;
    bool armed = false;
    bool loads_at_clk = false;
    bool counting = false;
    bool done = false;
    bool null_count = true;
    bool count_known = false; // not in binary what was counted in BCD
    std::uint64_t edges = 0;  // made by CLK

    [[nodiscard]] bool by_trigger() const { return mode == 1 || mode == 5; }
    [[nodiscard]] bool periodic() const { return mode == 2 || mode == 3; }

    void control_word(unsigned new_mode, bool decimal) {
        mode = new_mode;
        count_known = count_known && decimal == (modulus == 10'000);
        modulus = decimal ? 10'000 : 0x1'0000;
        out = mode != 0;
        armed = loads_at_clk = counting = done = false;
        null_count = true;
    }

    void first_byte() {
        if (mode == 0) {
            counting = loads_at_clk = false;
            armed = false;
            out = false;
        }
    }

    void write(std::uint32_t count) {
        count_register = count == 0 ? modulus : count;
        null_count = true;
        if (mode == 0) {
            out = false;
            counting = false;
        }
        if (mode == 0 || mode == 4 || (periodic() && !armed)) {
            loads_at_clk = true;
        }
        armed = true;
    }

    void set_gate(bool level) {
        if (level && !gate && armed && (by_trigger() || periodic())) {
            loads_at_clk = true;
        }
        if (!level && periodic()) {
            out = true;
        }
        gate = level;
    }

    void clk() {
        const bool before = out;
        if (loads_at_clk) {
            load();
        } else {
            if (mode >= 4) {
                out = true; // a strobe is one pulse
            }
            if (counting && (gate || by_trigger())) {
                count();
            }
        }
        edges += out && !before ? 1 : 0;
    }

private:
    void load() {
        loads_at_clk = false;
        null_count = false;
        count_known = true;
        counting = true;
        done = false;
        in_force = count_register;
        counting_element = mode == 3 ? count_register & ~1U : count_register % modulus;
        out = mode != 0 && mode != 1;
    }

    void decrement() { counting_element = (counting_element + modulus - 1) % modulus; }

    void count() {
        if (mode == 2) {
            if (counting_element == 1) {
                null_count = false;
                counting_element = count_register % modulus;
                out = true;
            } else {
                decrement();
                out = counting_element != 1;
            }
        } else if (mode == 3) {
            const bool extra_pulse = out && in_force % 2 != 0;
            if (extra_pulse ? counting_element == 0 : counting_element == 2) {
                out = !out;
                null_count = false;
                in_force = count_register;
                counting_element = in_force & ~1U;
            } else {
                counting_element -= 2;
            }
        } else {
            decrement();
            if (counting_element == 0 && !done) {
                done = true;
                out = mode < 2;
            }
        }
    }
};

} // namespace previrt
