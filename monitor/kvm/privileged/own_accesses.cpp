// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/own_accesses.hpp"

#include "host/input_error.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <optional>
#include <span>
#include <utility>

namespace previrt {

namespace {

constexpr std::uint8_t floating = 0xff;

} // namespace

OwnAccesses::OwnAccesses(OwnDevices& devices, bool strict, std::function<std::uint64_t()> now)
    : devices_(devices), strict_(strict), now_(std::move(now)) {}

bool OwnAccesses::access_ports(const VirtualProcessor& processor) {
    const std::span<std::uint8_t> data = processor.port_data();
    const auto io = processor.exit().io;
    const bool is_write = io.direction == KVM_EXIT_IO_OUT;
    if (!strict_ && !devices_.claims_port(io.port, io.size)) {
        tell_of_floating("port " + hex(io.port));
        if (!is_write) {
            std::ranges::fill(data, floating);
        }
        return false;
    }
    for (std::size_t i = 0; i + io.size <= data.size(); i += io.size) {
        std::uint32_t value = 0;
        if (is_write) {
            std::memcpy(&value, &data[i], io.size);
            if (!devices_.write(io.port, io.size, value, now_())) {
                throw InputError("a write to port " + hex(io.port) + ", which is not modelled," +
                                 processor.place());
            }
        } else {
            const std::optional<std::uint32_t> got = devices_.read(io.port, io.size, now_());
            if (!got) {
                throw InputError("a read of port " + hex(io.port) + ", which is not modelled," +
                                 processor.place());
            }
            std::memcpy(&data[i], &*got, io.size);
        }
    }
    return true;
}

void OwnAccesses::access_memory(const VirtualProcessor& processor) {
    auto& mmio = processor.exit().mmio;
    const bool is_write = mmio.is_write != 0;
    if (strict_ || devices_.claims_memory(mmio.phys_addr, mmio.len)) {
        throw InputError(std::string(is_write ? "a write to" : "a read from") + " physical address " +
                         hex(mmio.phys_addr) + ", where nothing is," + processor.place());
    }
    tell_of_floating("page of memory at " + hex(mmio.phys_addr & ~std::uint64_t{0xfff}));
    if (!is_write) {
        std::ranges::fill(mmio.data, floating);
    }
}

// Once for each place, and for few: the guest chooses them.
void OwnAccesses::tell_of_floating(const std::string& place) {
    constexpr std::size_t most_told = 16;
    if (told_places_.size() < most_told && told_places_.insert(place).second) {
        std::cerr << "previrt: no device claims the " + place + ": reads are all ones, writes are lost\n";
    }
}

} // namespace previrt
