// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// Runs a guest whose kernel the place can run, with the options for which it was prepared.
using PreparedRun = std::function<RunStatus(const RunOptions& options)>;

// The properties of a place that works on this machine.
struct PlaceFinding {
    std::string found;
    std::string isolation; // the protected boundaries
};

enum class PlaceNetwork : std::uint8_t {
    none,
    card_of_vmm,         // the DP83820 that the VMM models, joined to a network of this machine
    card_of_vmm_bridged, // the same, in a machine under QEMU: a bridge there joins it to a card of QEMU's
    card_of_qemu,        // of another maker, for the bare machine
};

enum class PlaceDisks : std::uint8_t {
    none,
    of_vmm,  // the controller that the VMM models, on files of this machine
    of_qemu, // the bare machine's
};

// A place for guests, with the features that it supports. No other list of places exists.
struct Place {
    const char* name; // of --on
    const char* description;
    bool is_automatic; // `auto` tries it, in the order of all_places()
    bool has_vmm;
    bool has_layers; // between guest and host: --require-isolation may demand them
    PlaceNetwork network;
    PlaceDisks disks;
    bool has_folders;  // of this machine
    bool has_ports;    // of a console device, which lead to the monitor
    bool has_commands; // and the guest's vsock device leads to the monitor
    // Both throw InputError: for an option of this guest, and for something that this machine lacks.
    PreparedRun (*prepare)(const RunOptions& options);
    PlaceFinding (*probe)();
};

// The best first: the best needs least of the machine.
std::span<const Place> all_places();
// Throws InputError.
const Place& place_of(const std::string& name);
// The values of --on: `auto`, and all places.
std::vector<std::string> place_names();

// Throws InputError for options that this place never supports.
void check_place(const RunOptions& options, const Place& place);

} // namespace previrt
