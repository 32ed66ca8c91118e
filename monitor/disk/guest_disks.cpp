// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/guest_disks.hpp"

#include <sys/eventfd.h>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

template <typename Ring>
Ring& ring_at(std::span<std::uint8_t> vmm_memory, const monitored::Part& part) {
    return *reinterpret_cast<Ring*>(vmm_memory.subspan(part.offset, sizeof(Ring)).data());
}

std::unique_ptr<DiskEngine> make_engine(DiskFile& file, const DiskEvents& events) {
    const int overlay = file.overlay() != nullptr ? file.overlay()->number() : -1;
    return file.daemon() != nullptr ? make_image_engine(file.daemon()->take_connection(), overlay, events)
                                    : make_disk_engine(file.number(), overlay, events);
}

} // namespace

GuestDisks::GuestDisk::GuestDisk(const DiskChoice& choice)
    : file(choice), called(make_event()), ended(make_event()),
      engine(make_engine(file, {.called = called.number(), .ended = ended.number()})) {}

GuestDisks::GuestDisks(const std::vector<std::string>& texts) {
    for (const DiskChoice& choice : parse_disks(texts)) {
        disks_.push_back(std::make_unique<GuestDisk>(choice));
    }
}

void GuestDisks::describe(monitored::DisksStart& start) const {
    for (unsigned number = 0; number < count(); ++number) {
        start.disks[number].disk = disks_[number]->file.disk();
    }
    start.count = count();
}

std::vector<DiskThread> GuestDisks::threads(const monitored::DisksStart& start,
                                            std::span<std::uint8_t> vmm_memory, std::span<std::uint8_t> ram,
                                            const std::function<void()>& call_guest, const GuestCall& call) {
    std::vector<DiskThread> threads;
    for (unsigned number = 0; number < count(); ++number) {
        GuestDisk& disk = *disks_[number];
        const monitored::DiskStart& parts = start.disks[number];
        disk.server = std::make_unique<DiskServer>(
            disk.file, *disk.engine,
            DiskRings{.requests = ring_at<monitored::DiskRequestRing>(vmm_memory, parts.requests),
                      .completions = ring_at<monitored::DiskCompletionRing>(vmm_memory, parts.completions)},
            ram, call_guest);
        threads.push_back({.run = [&disk, call] { disk.server->run(call); },
                           .end = [&disk] { eventfd_write(disk.ended.number(), 1); }});
    }
    return threads;
}

void GuestDisks::describe(std::ostream& output) const {
    for (const auto& disk : disks_) {
        const DiskChoice& choice = disk->file.choice();
        output << "previrt: disk " << choice.path << ": " << disk->file.disk().bytes / mib
               << " MiB in blocks of " << disk->file.disk().block_bytes << " bytes, by "
               << disk->engine->name() << (choice.is_image() ? " from " + choice.format : std::string())
               << (choice.is_read_only ? ", read only" : "") << (choice.is_snapshot ? ", snapshot" : "")
               << (choice.is_unsafe ? ", flushes do nothing" : "") << '\n';
    }
}

void GuestDisks::describe_end(std::ostream& output) const {
    for (const auto& disk : disks_) {
        if (disk->server == nullptr) {
            continue;
        }
        const DiskCounts& counts = disk->server->counts();
        output << "previrt: disk " << disk->file.choice().path << ": " << counts.reads << " reads, "
               << counts.read_bytes << " bytes; " << counts.writes << " writes, " << counts.written_bytes
               << " bytes; " << counts.flushes << " flushes, " << counts.discards << " discards, "
               << counts.zeroed << " of zeros; " << counts.refused << " refused, " << counts.failed
               << " failed; calls: " << counts.calls << " of the guest, " << counts.calls_by_guest
               << " by it\n";
    }
}

void GuestDisks::tell_failures(std::ostream& output) const {
    for (const auto& disk : disks_) {
        const std::string& path = disk->file.choice().path;
        if (disk->server != nullptr && disk->server->counts().failed != 0) {
            output << "previrt: disk " << path << ": " << disk->server->counts().failed
                   << " requests of the guest failed; the first, a " << disk->server->first_failure() << '\n';
        }
        if (disk->file.daemon() != nullptr) {
            const std::string trouble = disk->file.daemon()->describe_trouble(disk->engine->has_lost_disk());
            output << (trouble.empty() ? "" : "previrt: disk " + path + ": " + trouble + "\n");
        }
    }
}

} // namespace previrt
