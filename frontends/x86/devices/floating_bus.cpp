// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/floating_bus.hpp"

#include "frontends/x86/machine_state.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstddef>

namespace previrt {

namespace {

constexpr std::size_t most_told = 16;

// A guest chooses the addresses: only a few are reported.
class ToldPlaces {
public:
    void tell(std::uint64_t place, const char* of_what) {
        if (is_known(place) || count_ == most_told) {
            return;
        }
        places_[count_++] = place;
        Print print;
        print << note_line_prefix << "no device claims the " << of_what << " 0x" << Hex{place}
              << ": reads are all ones, writes are lost";
        if (count_ == most_told) {
            print << "; more of them are counted only";
        }
        print << '\n';
    }

private:
    [[nodiscard]] bool is_known(std::uint64_t place) const {
        for (std::size_t i = 0; i < count_; ++i) {
            if (places_[i] == place) {
                return true;
            }
        }
        return false;
    }

    std::uint64_t places_[most_told] = {};
    std::size_t count_ = 0;
};

[[gnu::section(".bss.cache")]] ToldPlaces told_ports;
[[gnu::section(".bss.cache")]] ToldPlaces told_pages;

} // namespace

void float_port(std::uint16_t port, const char* what) {
    if (machine_state.floating_ends_guest) {
        stop_guest(what, port);
    }
    ++counters.floating_ports;
    told_ports.tell(port, "port");
}

void float_memory(std::uint64_t physical, const char* what) {
    if (machine_state.floating_ends_guest) {
        stop_guest(what, physical);
    }
    constexpr std::uint64_t offset_in_page = 0xfff;
    ++counters.floating_memory;
    told_pages.tell(physical & ~offset_in_page, "page of memory at");
}

} // namespace previrt
