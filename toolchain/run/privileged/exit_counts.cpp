// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/privileged/exit_counts.hpp"

#include "toolchain/image/input_error.hpp"
#include "toolchain/run/kvm_interface.hpp"

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

namespace previrt {

namespace {

void read_all(const Descriptor& statistics, void* to, std::size_t bytes, std::uint64_t offset) {
    if (pread(statistics.number(), to, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) {
        throw InputError("the host's KVM does not tell its counts");
    }
}

bool is_of_exits(const std::string& name) {
    return name == "exits" || name.ends_with("_exits") || name == "insn_emulation" || name == "pf_taken" ||
           name == "hypercalls" || name == "irq_injections";
}

} // namespace

ExitCounts::ExitCounts(const Descriptor& processor) {
    const int number = ioctl(processor.number(), KVM_GET_STATS_FD, nullptr);
    if (number < 0) {
        return;
    }
    statistics_.emplace(number);
    kvm_stats_header header{};
    read_all(*statistics_, &header, sizeof header, 0);
    constexpr std::uint32_t most = 1000;
    if (header.num_desc > most || header.name_size > most) {
        throw InputError("the host's KVM tells of " + std::to_string(header.num_desc) + " counts");
    }
    const std::size_t entry = sizeof(kvm_stats_desc) + header.name_size;
    std::vector<char> descriptions(entry * header.num_desc);
    read_all(*statistics_, descriptions.data(), descriptions.size(), header.desc_offset);
    for (std::uint32_t i = 0; i < header.num_desc; ++i) {
        const char* const place = &descriptions[i * entry];
        kvm_stats_desc description{};
        std::copy_n(place, sizeof description, reinterpret_cast<char*>(&description));
        const char* const text = place + sizeof description;
        const std::string name(text, std::find(text, text + header.name_size, '\0'));
        if (description.size == 1 && is_of_exits(name)) {
            counters_.push_back({.name = name, .offset = header.data_offset + description.offset});
        }
    }
}

ExitCounts::Counts ExitCounts::read() const {
    Counts counts;
    for (const Counter& counter : counters_) {
        read_all(*statistics_, &counts[counter.name], sizeof(std::uint64_t), counter.offset);
    }
    return counts;
}

} // namespace previrt
