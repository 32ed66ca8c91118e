// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/surroundings.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace previrt::start_up {

// A machine around a starting processor, that answers only what a test gave it.
class Machine {
public:
    struct Area {
        std::uint64_t base; // physical
        bool holds_code;
        bool holds_data;
        bool is_writable;
        std::vector<std::uint8_t> bytes;
    };

    Surroundings surroundings();

    Area& add(Area area) { return areas_.emplace_back(std::move(area)); }
    // Physical memory that all may use.
    Area& add_memory(std::uint64_t base, std::uint64_t bytes);
    void put(std::uint64_t physical, const std::vector<std::uint8_t>& bytes);
    std::uint64_t get(std::uint64_t physical, unsigned bytes);

    std::map<std::uint32_t, backend::CpuidLeaf> leaves; // others give zeros
    std::map<std::uint32_t, std::uint64_t> model_registers;
    std::vector<std::pair<std::uint16_t, std::uint32_t>> written_ports;
    std::map<std::uint16_t, std::uint32_t> ports; // that can be read
    std::set<std::uint16_t> writable_ports;
    unsigned lost_exchanges = 0; // so many compare_exchange come too late
    unsigned exchanges = 0;
    std::vector<std::pair<std::uint64_t, std::uint8_t>> journal; // of writes: the place and the byte before

    // nullptr: not all of these bytes are in one area that allows the access.
    std::uint8_t* find(std::uint64_t physical, std::uint64_t bytes, Access access);
    std::optional<std::uint64_t> to_physical(const StartingProcessor& processor, std::uint64_t linear);

private:
    std::vector<Area> areas_;
};

} // namespace previrt::start_up
