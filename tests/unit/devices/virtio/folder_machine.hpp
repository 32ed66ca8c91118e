// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio_fs/virtio_fs.hpp"
#include "tests/unit/devices/virtio/virtio_machine.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace previrt {

// A folder's device, RAM, the host's end, and the steps of a driver. The host's end throws if the device
// breaks the rules between them.
class FolderMachine : public VirtioMachine<VirtioFs> {
public:
    enum Queue : std::uint16_t { urgent_queue, request_queue };

    FolderMachine() { folder.start("a folder's tag"); }

    void start(std::uint64_t features = indirect_tables | version_1) { VirtioMachine::start(features); }
    void serve() { folder.serve(ram.memory(), host(), masters_bus); }
    void kick(std::uint16_t queue) {
        set(notify, 2, queue);
        serve();
    }
    FolderHost host() {
        return {.begin = begin,
                .end = end,
                .is_settled = [](void* context) { return self(context).is_settled; },
                .notify = notify_server,
                .take_used = [](void* context) { return std::exchange(self(context).has_used, false); },
                .context = this};
    }

    VirtioFs& folder = device;
    bool masters_bus = true;
    bool is_settled = true; // the server has done what it was told
    bool has_used = false;
    bool is_serving = false; // as it was told last
    unsigned begun = 0;
    unsigned ended = 0;
    virtio_fs::Queues queues{};
    std::vector<unsigned> notified; // queues

private:
    static FolderMachine& self(void* context) { return *static_cast<FolderMachine*>(context); }
    static void require(bool holds) {
        if (!holds) {
            throw std::logic_error("the device breaks a rule");
        }
    }
    [[nodiscard]] bool is_in_ram(std::uint64_t address, std::uint64_t bytes) {
        return ram.at(address, bytes) != nullptr;
    }
    static void begin(void* context, const virtio_fs::Queues& given) {
        FolderMachine& machine = self(context);
        require(!machine.is_serving && machine.is_settled && machine.masters_bus);
        for (const virtio::SplitQueue& queue : given) {
            require(!queue.is_enabled ||
                    (queue.size != 0 && queue.size <= 1024 &&
                     machine.is_in_ram(queue.descriptors, std::uint64_t{16} * queue.size) &&
                     machine.is_in_ram(queue.available, 6 + (std::uint64_t{2} * queue.size)) &&
                     machine.is_in_ram(queue.used, 6 + (std::uint64_t{8} * queue.size))));
        }
        machine.queues = given;
        machine.is_serving = true;
        ++machine.begun;
    }
    static void end(void* context) {
        require(self(context).is_serving);
        self(context).is_serving = false;
        ++self(context).ended;
    }
    static void notify_server(void* context, unsigned queue) {
        require(self(context).is_serving && queue < virtio_fs::queue_count);
        self(context).notified.push_back(queue);
    }
};

} // namespace previrt
