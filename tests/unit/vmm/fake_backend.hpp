// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"
#include "inplace-vmm/backend/packets.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// A back-end on the host: RAM is a vector, time a variable, and the hypervisor a model that is as particular
// about page tables as Xen, with the TLB of a real processor.
namespace previrt::fake {

// stop_guest was called.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// end_guest was called.
struct End : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// The front-end broke a rule of inplace-vmm/backend.
struct Misuse : std::logic_error {
    using std::logic_error::logic_error;
};

struct BaseRegisters {
    std::uint64_t fs;
    std::uint64_t kernel_gs;
    std::uint64_t user_gs;
};

using Packet = std::vector<std::uint8_t>;

// The other side of the network.
struct Network {
    std::optional<backend::NetworkAddress> address;
    bool is_up = true;
    bool finishes_packets = false;
    std::size_t room = 1000;    // packets that may be sent
    std::size_t room_bytes = 0; // for each, where the card does not ask for more
    std::vector<Packet> sent;
    std::vector<ethernet::Unfinished> left;     // of each of these
    std::deque<Packet> received;                // on their way to the guest
    std::deque<backend::ReceivedPacket> states; // of the first of these, but for their bytes
    unsigned calls = 0;                         // of notify_packets() where there was something to tell
};

constexpr std::uint64_t epoch = 1'700'000'000'250'000'000; // 2023-11-14 22:13:20.25

struct Host {
    std::uint64_t now = 0;
    std::optional<std::uint64_t> stolen_time;
    std::optional<std::uint64_t> timer;
    std::string console;
    std::string input;
    std::map<std::pair<std::uint32_t, std::uint32_t>, backend::CpuidLeaf> cpuid;
    std::map<std::pair<bool, unsigned>, std::uint64_t> descriptors; // by table and index, as written
    std::uint16_t selectors[6] = {};                                // as loaded
    BaseRegisters bases{};
    bool task_switched = false;
    std::uint64_t extensions = 0;
    std::uint64_t debug[8] = {};
    std::uint64_t xcr0 = 0;
    std::optional<backend::StateInstruction> state_instruction;
    Network network;
    std::size_t most_sites = 200'000; // of one list
    std::list<std::vector<KnownSite>> site_memory;
    backend::KernelFaults kernel_faults = backend::KernelFaults::by_own_stack;
};
extern Host host;

// Everything anew: the machine, the Vcpu, the shadow tables.
void start(std::uint64_t ram_bytes, std::uint32_t table_count);

// What the real processor makes of an access through the tables that the hypervisor has.
enum class Translation : std::uint8_t { done, faulted };
struct Translated {
    Translation result;
    std::uint64_t physical; // of the guest
};
Translated access(std::uint64_t address, Access how);
// The same from the tables alone, changing nothing.
Translated look(std::uint64_t address, Access how);

// Both copies of every table agree.
void check_tables();

// The guest frames that published tables of level 1 map writable.
std::vector<std::uint64_t> writable_frames();

std::uint32_t published_count();

// Machine frames that stand for the guest's read-only pages, one each.
std::uint64_t copy_of(std::uint64_t guest_frame);
// The entries of published tables of level 1 that name one.
std::vector<std::pair<backend::TableNumber, unsigned>> leaves_of_copies();

constexpr std::uint64_t general_entry = 0xffffffffffe01000;
constexpr std::uint64_t general_pointer = 0xffffffffffe02000;
constexpr std::uint64_t cell = 0xffffffffffe03001;
// How treat_site answers, by kind.
extern Treatment treatments[256];

} // namespace previrt::fake
