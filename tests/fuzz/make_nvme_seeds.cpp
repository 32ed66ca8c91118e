// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_nvme: a controller that is enabled, gets two pairs of queues, and is given each
// command.
#include "devices/nvme/command.hpp"
#include "devices/nvme/registers.hpp"
#include "host/file.hpp"
#include "tests/fuzz/nvme_step.hpp"
#include "tests/fuzz/seeds.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace previrt {

namespace {

using namespace nvme;

class Steps {
public:
    Steps() {
        constexpr std::uint32_t size = nvme_place::entries - 1;
        set(at::aqa, size | (size << 16U));
        set(at::asq, nvme_place::queues);
        set(at::acq, nvme_place::queues + nvme_place::queue_stride);
        set(at::cc, 0x0046'0001);
        for (std::uint32_t queue = 1; queue <= 2; ++queue) {
            const std::uint32_t place = nvme_place::queues + (2 * queue * nvme_place::queue_stride);
            give(0, static_cast<std::uint8_t>(AdminOpcode::create_completion_queue),
                 place + nvme_place::queue_stride, {queue | (size << 16U), 3});
            give(0, static_cast<std::uint8_t>(AdminOpcode::create_submission_queue), place,
                 {queue | (size << 16U), 1 | (queue << 16U)});
        }
    }

    // A command, with the doorbells before and behind it.
    void give(std::uint32_t queue, std::uint8_t opcode, std::uint32_t prps,
              const std::vector<std::uint32_t>& words) {
        const auto index = static_cast<std::uint8_t>(tails_[queue] % nvme_place::entries);
        add(NvmeStepKind::write_command, index, (queue << 8U) | opcode, prps);
        for (std::uint32_t i = 0; i < words.size(); ++i) {
            add(NvmeStepKind::write_word, index, (queue << 8U) | i, words[i]);
        }
        ++tails_[queue];
        add(NvmeStepKind::ring, static_cast<std::uint8_t>(2 * queue), 0, tails_[queue] % nvme_place::entries);
        add(NvmeStepKind::serve, 0, 0, 0);
        if (queue != 0) {
            add(NvmeStepKind::complete, 0, 0, 0);
        }
        add(NvmeStepKind::ring, static_cast<std::uint8_t>((2 * queue) + 1), 0,
            tails_[queue] % nvme_place::entries);
    }
    void set(std::uint32_t offset, std::uint32_t value) {
        add(NvmeStepKind::write_register, static_cast<std::uint8_t>(offset / 4), 0, value);
    }
    void add(NvmeStepKind kind, std::uint8_t index, std::uint32_t number, std::uint32_t value) {
        steps_.push_back({static_cast<std::uint8_t>(kind), index, static_cast<std::uint16_t>(number), value});
    }
    void write(const std::string& path) const {
        std::vector<std::uint8_t> bytes(steps_.size() * sizeof(NvmeStep));
        std::memcpy(bytes.data(), steps_.data(), bytes.size());
        write_file(path, bytes);
    }

private:
    std::vector<NvmeStep> steps_;
    std::uint32_t tails_[3] = {};
};

void add_admin(Steps& steps) {
    for (std::uint32_t structure = 0; structure < 4; ++structure) {
        steps.give(0, static_cast<std::uint8_t>(AdminOpcode::identify), nvme_place::data, {structure});
    }
    for (std::uint32_t feature = 1; feature < 12; ++feature) {
        steps.give(0, static_cast<std::uint8_t>(AdminOpcode::get_features), 0, {feature});
        steps.give(0, static_cast<std::uint8_t>(AdminOpcode::set_features), 0, {feature, 0x10});
    }
    for (std::uint32_t i = 0; i < 5; ++i) {
        steps.give(0, static_cast<std::uint8_t>(AdminOpcode::asynchronous_event_request), 0, {});
    }
    steps.add(NvmeStepKind::ring, 31, 0, 1);
    steps.add(NvmeStepKind::serve, 0, 0, 0);
    steps.give(0, static_cast<std::uint8_t>(AdminOpcode::abort), 0, {0x1'0000});
}

void add_io(Steps& steps, std::uint32_t queue) {
    for (std::uint32_t i = 0; i < 64; ++i) {
        steps.add(NvmeStepKind::write_memory, 0, (nvme_place::lists / 8) + i,
                  nvme_place::data + (i * 0x1000));
    }
    // PRP2 is by the upper bits of the same number.
    for (const std::uint32_t prps : {nvme_place::data, nvme_place::lists << 12U}) {
        for (const std::uint32_t blocks : {0U, 15U, 100U}) {
            steps.give(queue, static_cast<std::uint8_t>(IoOpcode::write), prps, {blocks, 0, blocks});
            steps.give(queue, static_cast<std::uint8_t>(IoOpcode::read), prps, {blocks, 0, blocks});
        }
    }
    steps.give(queue, static_cast<std::uint8_t>(IoOpcode::flush), 0, {});
    steps.give(queue, static_cast<std::uint8_t>(IoOpcode::write_zeroes), 0, {1, 0, 7});
    steps.give(queue, static_cast<std::uint8_t>(IoOpcode::dataset_management), nvme_place::data, {3, 4});
}

} // namespace

void write_seeds(const std::string& directory) {
    for (const std::uint32_t race : {0U, 12345U}) {
        const std::string suffix = race != 0 ? "-race" : "";
        Steps admin;
        admin.add(NvmeStepKind::race, 0, 0, race);
        add_admin(admin);
        admin.write(directory + "/admin" + suffix);
        Steps io;
        io.add(NvmeStepKind::race, 0, 0, race);
        add_io(io, 1);
        add_io(io, 2);
        io.write(directory + "/io" + suffix);
        io.give(0, static_cast<std::uint8_t>(AdminOpcode::delete_submission_queue), 0, {1});
        io.give(0, static_cast<std::uint8_t>(AdminOpcode::delete_completion_queue), 0, {1});
        io.set(at::cc, 0x0046'4001); // a shutdown, and a reset
        io.add(NvmeStepKind::serve, 0, 0, 0);
        io.add(NvmeStepKind::complete, 0, 0, 0);
        io.set(at::cc, 0);
        io.set(at::cc, 0x0046'0001);
        io.write(directory + "/end" + suffix);
    }
}

} // namespace previrt
