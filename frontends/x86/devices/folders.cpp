// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/folders.hpp"

#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/folders.hpp"

#include <array>

namespace previrt {

static_assert(Pc::most_folders == backend::most_folders);
static_assert(virtio_fs::queue_count == backend::most_folder_queues);
static_assert(virtio_fs::most_tag_bytes == backend::most_tag_bytes);

namespace {

unsigned number_of(const void* context) {
    return *static_cast<const unsigned*>(context);
}

void begin(void* context, const virtio_fs::Queues& queues) {
    std::array<backend::FolderQueue, virtio_fs::queue_count> described{};
    for (unsigned i = 0; i < described.size(); ++i) {
        const virtio::SplitQueue& queue = queues[i];
        described[i] = {.descriptors = queue.descriptors,
                        .available = queue.available,
                        .used = queue.used,
                        .size = queue.is_enabled ? queue.size : std::uint32_t{0},
                        .reserved = 0};
    }
    backend::begin_folder(number_of(context), described);
}

FolderHost host(unsigned& number) {
    return {
        .begin = begin,
        .end = [](void* context) { backend::end_folder(number_of(context)); },
        .is_settled = [](void* context) { return backend::is_folder_settled(number_of(context)); },
        .notify = [](void* context, unsigned queue) { backend::notify_folder(number_of(context), queue); },
        .take_used = [](void* context) { return backend::take_folder_used(number_of(context)); },
        .context = &number};
}

} // namespace

void insert_folders() {
    for (unsigned i = 0; i < backend::folder_count(); ++i) {
        const backend::Folder folder = backend::folder(i);
        pc.insert_folder({folder.tag, folder.tag_bytes});
    }
}

void serve_folders() {
    if (pc.folder_count == 0) {
        return;
    }
    for (unsigned i = 0; i < pc.folder_count; ++i) {
        pc.folders[i].serve(dma_memory, host(i), pc.folder_masters_bus(i));
    }
    pc.update_folder_line();
}

} // namespace previrt
