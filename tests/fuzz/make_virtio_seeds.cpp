// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_virtio: each device is started, and gets buffers in each of its queues.
#include "host/file.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/virtio_step.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace previrt {

namespace {

class Steps {
public:
    explicit Steps(VirtioDevice device) : device_(device) {}

    void add(VirtioStepKind kind, std::uint8_t index = 0, std::uint32_t number = 0, std::uint32_t value = 0) {
        const unsigned first = static_cast<unsigned>(device_) * virtio_step_kinds;
        steps_.push_back({static_cast<std::uint8_t>(first + static_cast<unsigned>(kind)), index,
                          static_cast<std::uint16_t>(number), value});
    }
    void write(const std::string& path) const {
        std::vector<std::uint8_t> bytes(steps_.size() * sizeof(VirtioStep));
        std::memcpy(bytes.data(), steps_.data(), bytes.size());
        write_file(path, bytes);
    }

private:
    VirtioDevice device_;
    std::vector<VirtioStep> steps_;
};

// Of a descriptor.
constexpr std::uint32_t next = 1;
constexpr std::uint32_t write = 2;

void add_buffers(Steps& steps, std::uint8_t queue, std::uint32_t flags) {
    constexpr std::uint32_t page = 0x1000;
    for (std::uint32_t i = 0; i < 8; i += 2) {
        steps.add(VirtioStepKind::describe, queue, i | ((flags | next) << 4U) | ((i + 1) << 8U),
                  (0x8000 + (i * page)) | (std::uint32_t{44} << 19U));
        steps.add(VirtioStepKind::describe, queue, (i + 1) | (flags << 4U),
                  (0x9000 + (i * page)) | (page << 19U));
        steps.add(VirtioStepKind::offer, queue, i);
        steps.add(VirtioStepKind::notify, queue);
        steps.add(VirtioStepKind::host, 0, 0, 7 | (i * 1000));
        steps.add(VirtioStepKind::serve);
    }
}

// The driver knows port 1, and a program has it. A message's identifier is the upper half of a word of
// memory.
void open_console_port(Steps& steps) {
    constexpr std::uint8_t control_queue = 3;
    constexpr std::uint32_t message = 0x7004;
    constexpr std::uint32_t value_1 = 1U << 16U;
    for (const std::uint32_t event : {3U, 6U}) {
        steps.add(VirtioStepKind::write_memory, 1, message / 8);
        steps.add(VirtioStepKind::write_memory, 0, (message + 4) / 8, event | value_1);
        steps.add(VirtioStepKind::describe, control_queue, 0, message | (8U << 19U));
        steps.add(VirtioStepKind::offer, control_queue);
        steps.add(VirtioStepKind::notify, control_queue);
        steps.add(VirtioStepKind::serve);
    }
}

} // namespace

void write_seeds(const std::string& directory) {
    for (std::uint8_t device = 0; device < virtio_devices; ++device) {
        for (const std::uint32_t race : {0U, 12345U}) {
            Steps steps(static_cast<VirtioDevice>(device));
            steps.add(VirtioStepKind::race, 0, 0, race);
            for (unsigned turn = 0; turn < 2; ++turn) {
                steps.add(VirtioStepKind::start);
                const bool is_console = static_cast<VirtioDevice>(device) == VirtioDevice::console;
                if (is_console) {
                    open_console_port(steps);
                }
                const std::uint8_t queues = is_console ? 6 : 3;
                for (std::uint8_t queue = 0; queue < queues; ++queue) {
                    add_buffers(steps, queue, queue % 2 == 1 ? 0 : write);
                }
                steps.add(VirtioStepKind::write_register, 0, 0x14, 0); // the driver's reset
                steps.add(VirtioStepKind::serve);
                steps.add(VirtioStepKind::host, 0, 0, 3);
                steps.add(VirtioStepKind::serve);
            }
            steps.write(directory + "/device" + std::to_string(device) + (race != 0 ? "-race" : ""));
        }
    }
}

} // namespace previrt
