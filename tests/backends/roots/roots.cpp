// SPDX-License-Identifier: BSD-2-Clause
// Linked with all of previrt-ptrace. At every seventh stop of the guest it copies the two roots of the
// guest's state, overwrites each static of front-end, core, devices and frames that is not a cache, and puts
// the roots back. The guest must not notice. $ROOTS_MAP names the linker's map, which says where the statics
// are.
#include "frontends/x86/machine_state.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/backends/ptrace/entries.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace previrt {

namespace {

struct Statics {
    std::uint8_t* begin;
    std::size_t bytes;
};

constexpr const char* archives[] = {"libx86_frontend_host.a", "libinplace_vmm_host.a", "libdevices_host.a",
                                    "libethernet_host.a"};

bool is_of_vmm(const std::string& object) {
    for (const char* const archive : archives) {
        if (object.find(archive) != std::string::npos) {
            return true;
        }
    }
    return false;
}

// A line of the map: SECTION ADDRESS SIZE OBJECT. Caches have sections of other names.
std::vector<Statics> read_map(const char* path) {
    std::ifstream map(path);
    std::vector<Statics> found;
    std::string line;
    while (std::getline(map, line)) {
        std::istringstream words(line);
        std::string section;
        std::uint64_t address = 0;
        std::size_t bytes = 0;
        std::string object;
        words >> section >> std::hex >> address >> bytes >> object;
        if (words && (section == ".data" || section == ".bss") && bytes != 0 && is_of_vmm(object)) {
            found.push_back({.begin = reinterpret_cast<std::uint8_t*>(address), .bytes = bytes});
        }
    }
    return found;
}

void overwrite_statics() {
    static const char* const path = std::getenv("ROOTS_MAP");
    static const std::vector<Statics> statics = read_map(path == nullptr ? "" : path);
    if (statics.empty()) {
        std::cerr << "roots: the map names no statics of the VMM\n";
        std::exit(2);
    }
    static Vcpu processor;
    static MachineState machine;
    std::memcpy(&processor, &vcpu, sizeof(vcpu));
    std::memcpy(&machine, &machine_state, sizeof(machine_state));
    constexpr int other = 0xa5;
    for (const Statics& range : statics) {
        std::memset(range.begin, other, range.bytes);
    }
    std::memset(&vcpu, other, sizeof(vcpu));
    std::memcpy(&vcpu, &processor, sizeof(vcpu));
    std::memcpy(&machine_state, &machine, sizeof(machine_state));
}

void count_stop() {
    static unsigned stops;
    if (++stops % 7 == 0) {
        overwrite_statics();
    }
}

[[gnu::constructor]] void watch_stops() {
    traced::after_stop = count_stop;
}

} // namespace

} // namespace previrt
