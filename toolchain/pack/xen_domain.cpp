// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/xen_domain.hpp"

#include "host/input_error.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char character : text) {
        if (static_cast<unsigned char>(character) < ' ') {
            throw InputError("an xl configuration cannot name a path with control characters in it");
        }
        if (character == '"' || character == '\\') {
            result += '\\';
        }
        result += character;
    }
    return result + '"';
}

} // namespace

std::uint64_t domain_memory(std::uint64_t guest_memory, std::uint64_t package_bytes, unsigned processors) {
    constexpr std::uint64_t of_each_processor = mib / 2; // but the first
    const std::uint64_t bytes = guest_memory + (guest_memory / 16) + (guest_memory / 64) + (34 * mib) +
                                package_bytes + ((processors - 1) * of_each_processor);
    return (bytes + mib - 1) / mib * mib;
}

std::string xl_configuration(const XenDomain& domain) {
    const auto action = [&](const char* usual) {
        return quoted(domain.at_end.empty() ? usual : domain.at_end);
    };
    std::string text;
    const auto set = [&](const char* name, const std::string& value) {
        text += std::string(name) + " = " + value + '\n';
    };
    set("name", quoted(domain.name));
    set("type", quoted("pv"));
    set("kernel", quoted(domain.kernel));
    set("ramdisk", quoted(domain.module));
    if (!domain.command_line.empty()) {
        set("extra", quoted(domain.command_line));
    }
    set("memory", std::to_string(domain.memory / mib));
    set("vcpus", std::to_string(domain.processors));
    if (!domain.vif.empty()) {
        set("vif", "[" + quoted(domain.vif) + "]");
    }
    if (!domain.disks.empty()) {
        std::string disks;
        for (const std::string& disk : domain.disks) {
            disks += (disks.empty() ? "" : ", ") + quoted(disk);
        }
        set("disk", "[" + disks + "]");
    }
    set("on_poweroff", action("destroy"));
    set("on_reboot", action("restart"));
    set("on_crash", action("destroy"));
    return text;
}

} // namespace previrt
