// SPDX-License-Identifier: BSD-2-Clause
#include "devices/platform/absent_ports.hpp"

#include <array>

namespace previrt {

namespace {

constexpr std::array absent_ports{
    AbsentPorts{"DMA page registers", 0x81, 0x8f},
    AbsentPorts{"I/O delay", 0xed, 0xed},
    AbsentPorts{"COM2", 0x2f8, 0x2ff},
    AbsentPorts{"COM3", 0x3e8, 0x3ef},
    AbsentPorts{"COM4", 0x2e8, 0x2ef},
};

} // namespace

const AbsentPorts* find_absent(std::uint16_t port) {
    for (const AbsentPorts& ports : absent_ports) {
        if (port >= ports.first && port <= ports.last) {
            return &ports;
        }
    }
    return nullptr;
}

} // namespace previrt
