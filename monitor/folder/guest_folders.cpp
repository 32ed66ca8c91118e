// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/guest_folders.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"

#include <bit>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>

namespace previrt {

namespace {

// The server's ring has these: a driver may use both or not.
constexpr std::uint64_t features = (std::uint64_t{1} << 32U) | (std::uint64_t{1} << 28U);

void forget(const Descriptor& event) {
    eventfd_t value = 0;
    eventfd_read(event.number(), &value);
}

} // namespace

GuestFolders::GuestFolder::GuestFolder(const FolderChoice& chosen, int given_up)
    : choice(chosen), server(chosen), connection(server.take_connection(), given_up), used(make_event()) {
    for (Descriptor& event : kicked) {
        event = make_event();
    }
}

GuestFolders::GuestFolders(const RunOptions& options) : called_(make_event()), ended_(make_event()) {
    for (const FolderChoice& choice : parse_folders(options)) {
        folders_.push_back(std::make_unique<GuestFolder>(choice, ended_.number()));
    }
    for (const auto& folder : folders_) {
        if (!folder->connection.negotiate(features)) {
            throw InputError(folder->choice.path + ": its server does not answer: " + describe_end(*folder));
        }
    }
}

void GuestFolders::describe(monitored::FoldersStart& start) const {
    for (unsigned number = 0; number < count(); ++number) {
        backend::Folder& folder = start.folders[number].folder;
        const std::string& tag = folders_[number]->choice.tag;
        folder.tag_bytes = static_cast<std::uint32_t>(tag.copy(folder.tag, sizeof folder.tag));
    }
    start.count = count();
}

void GuestFolders::share(const SharedRam& ram) {
    ram_bytes_ = ram.bytes;
    for (const auto& folder : folders_) {
        if (!folder->connection.share(ram)) {
            throw InputError(folder->choice.path + ": its server has ended: " + describe_end(*folder));
        }
    }
}

bool GuestFolders::guest_has_ended() const {
    pollfd ended{.fd = ended_.number(), .events = POLLIN, .revents = 0};
    return poll(&ended, 1, 0) == 1;
}

std::string GuestFolders::describe_failure(GuestFolder& folder) {
    const std::string& path = folder.choice.path;
    return folder.asks_for_nonsense ? path + ": it asks for a queue that is not in its RAM"
                                    : path + ": the server of this folder has ended: " + describe_end(folder);
}

std::string GuestFolders::describe_end(GuestFolder& folder) {
    folder.connection.close();
    return folder.server.describe_end();
}

FolderThread GuestFolders::thread(const monitored::FoldersStart& start, std::span<std::uint8_t> vmm_memory,
                                  const std::function<void()>& call_guest, pid_t group) {
    if (folders_.empty()) {
        return {};
    }
    for (unsigned number = 0; number < count(); ++number) {
        const monitored::Part& part = start.folders[number].link;
        folders_[number]->link = reinterpret_cast<monitored::FolderLink*>(
            vmm_memory.subspan(part.offset, sizeof(monitored::FolderLink)).data());
    }
    return {.run =
                [this, call_guest, group] {
                    confine_folder_thread(group);
                    return serve(call_guest);
                },
            .end = [this] { eventfd_write(ended_.number(), 1); }};
}

std::string GuestFolders::serve(const std::function<void()>& call_guest) {
    std::vector<pollfd> waiting = {{.fd = ended_.number(), .events = POLLIN, .revents = 0},
                                   {.fd = called_.number(), .events = POLLIN, .revents = 0}};
    for (const auto& folder : folders_) {
        waiting.push_back({.fd = folder->used.number(), .events = POLLIN, .revents = 0});
        waiting.push_back({.fd = folder->connection.socket(), .events = POLLIN, .revents = 0});
    }
    while (waiting[0].revents == 0) {
        if (poll(waiting.data(), waiting.size(), -1) < 0) {
            continue;
        }
        bool has_news = false;
        if (waiting[1].revents != 0) {
            forget(called_);
        }
        for (std::size_t i = 0; i < folders_.size() && waiting[0].revents == 0; ++i) {
            GuestFolder& folder = *folders_[i];
            // A server sends nothing unasked.
            const bool has_gone = waiting[3 + (2 * i)].revents != 0;
            const std::uint32_t before = folder.settled;
            if (has_gone || (waiting[1].revents != 0 && !settle(folder))) {
                return guest_has_ended() ? "" : describe_failure(folder);
            }
            has_news |= folder.settled != before;
            if (waiting[2 + (2 * i)].revents != 0) {
                forget(folder.used);
                __atomic_store_n(&folder.link->used, 1, __ATOMIC_RELEASE);
                has_news = true;
            }
        }
        if (has_news) {
            call_guest();
        }
    }
    return {};
}

// False: the server has gone, or the guest has ended.
bool GuestFolders::settle(GuestFolder& folder) {
    const std::uint32_t wanted = __atomic_load_n(&folder.link->wanted, __ATOMIC_ACQUIRE);
    if (wanted == folder.settled) {
        return true;
    }
    if (!end(folder) || (wanted % 2 == 1 && !begin(folder))) {
        return false;
    }
    folder.settled = wanted;
    __atomic_store_n(&folder.link->settled, wanted, __ATOMIC_RELEASE);
    return true;
}

// The server trusts its monitor.
bool GuestFolders::is_in_ram(const backend::FolderQueue& queue) const {
    constexpr std::uint32_t most_entries = 1024; // of virtiofsd
    const auto is_there = [&](std::uint64_t address, std::uint64_t bytes) {
        return address <= ram_bytes_ && bytes <= ram_bytes_ - address;
    };
    const std::uint64_t entries = queue.size;
    return entries <= most_entries && std::has_single_bit(queue.size) &&
           is_there(queue.descriptors, 16 * entries) && is_there(queue.available, 6 + (2 * entries)) &&
           is_there(queue.used, 6 + (8 * entries));
}

bool GuestFolders::begin(GuestFolder& folder) {
    for (unsigned number = 0; number < folder.kicked.size(); ++number) {
        const backend::FolderQueue queue = folder.link->queues[number];
        __atomic_signal_fence(__ATOMIC_SEQ_CST); // the guest may change it: it must not be read again
        if (queue.size == 0) {
            continue;
        }
        folder.asks_for_nonsense = !is_in_ram(queue);
        if (folder.asks_for_nonsense) {
            return false;
        }
        if (!folder.connection.begin_queue(number, queue, folder.kicked.at(number).number(),
                                           folder.used.number())) {
            return false;
        }
        folder.served_queues |= 1U << number;
    }
    return true;
}

bool GuestFolders::end(GuestFolder& folder) {
    for (unsigned number = 0; number < folder.kicked.size(); ++number) {
        if ((folder.served_queues >> number & 1U) != 0 && !folder.connection.end_queue(number)) {
            return false;
        }
    }
    folder.served_queues = 0;
    return true;
}

void GuestFolders::describe(std::ostream& output) const {
    for (const auto& folder : folders_) {
        output << "previrt: folder " << folder->choice.path << ": tag " << folder->choice.tag
               << (folder->choice.is_read_only ? ", read only" : "") << '\n';
    }
}

} // namespace previrt
