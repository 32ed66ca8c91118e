// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A guest whose kernel its place can run; with the options that it was prepared for.
using PreparedRun = std::function<RunStatus(const RunOptions& options)>;

// What makes a place work on this machine.
struct PlaceFinding {
    std::string found;
    std::string isolation; // who is kept from whom
};

enum class PlaceNetwork : std::uint8_t {
    none,
    card_of_vmm,         // the DP83820 that the VMM models, joined to a network of this machine
    card_of_vmm_bridged, // the same, in a machine under QEMU: a bridge there joins it to a card of QEMU's
    card_of_qemu,        // of another maker, for the bare machine
};

// A place where a guest can run, and what it supports. No other list of places exists.
struct Place {
    const char* name; // of --on
    const char* description;
    bool has_vmm;
    bool has_layers; // between guest and host, which --require-isolation may ask for
    PlaceNetwork network;
    unsigned most_processors;
    // Both throw InputError: for what this guest asks for, and for what this machine lacks.
    PreparedRun (*prepare)(const RunOptions& options);
    PlaceFinding (*probe)();
};

std::span<const Place> all_places();
// Those that `auto` tries, the best first: from the one that asks least of the machine.
std::span<const Place* const> automatic_places();
// Throws InputError.
const Place& place_of(const std::string& name);
// Of --on: `auto`, and the names of all.
std::vector<std::string> place_names();

// Throws InputError for what this place never gives to a guest.
void check_place(const RunOptions& options, const Place& place);

} // namespace previrt
