// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/folder_start.hpp"
#include "host/program.hpp"
#include "monitor/folder/choice.hpp"
#include "monitor/folder/folder_server.hpp"
#include "monitor/folder/vhost_user.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/options.hpp"

#include <array>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

// A guest's folders: their servers, and the events by which guest, servers and monitor ring each other. A
// server reads and writes the guest's memory by itself; a thread of the monitor only tells it which queues to
// serve, and passes on its interrupts.
class GuestFolders {
public:
    // Starts the servers. Throws InputError.
    explicit GuestFolders(const RunOptions& options);

    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(folders_.size()); }
    // Eventfds of the guest's doorbells: of the monitor, and of a server.
    [[nodiscard]] const Descriptor& called() const { return called_; }
    [[nodiscard]] const Descriptor& kicked(unsigned folder, unsigned queue) const {
        return folders_[folder]->kicked.at(queue);
    }
    void describe(monitored::FoldersStart& start) const;
    // Call it once, before the guest runs. Throws InputError.
    void share(const SharedRam& ram);

    // `start`: the guest's hand-over. `vmm_memory`: begins where the parts of `start` count from. `group`:
    // see confine_relay_thread.
    [[nodiscard]] FolderThread thread(const monitored::FoldersStart& start,
                                      std::span<std::uint8_t> vmm_memory,
                                      const std::function<void()>& call_guest, pid_t group = 0);
    // For --verbose.
    void describe(std::ostream& output) const;

private:
    struct GuestFolder {
        GuestFolder(const FolderChoice& chosen, int given_up);

        FolderChoice choice;
        FolderServer server;
        VhostUser connection;
        std::array<Descriptor, backend::most_folder_queues> kicked;
        Descriptor used;
        monitored::FolderLink* link = nullptr;
        std::uint32_t settled = 0;
        std::uint32_t served_queues = 0; // a bit for each
        bool asks_for_nonsense = false;
    };

    // Until the guest ends. Returns why it must end, or nothing.
    std::string serve(const std::function<void()>& call_guest);
    bool settle(GuestFolder& folder);
    bool begin(GuestFolder& folder);
    static bool end(GuestFolder& folder);
    [[nodiscard]] bool is_in_ram(const backend::FolderQueue& queue) const;
    [[nodiscard]] bool guest_has_ended() const;
    static std::string describe_failure(GuestFolder& folder);
    static std::string describe_end(GuestFolder& folder);

    Descriptor called_;
    Descriptor ended_;
    std::vector<std::unique_ptr<GuestFolder>> folders_;
    std::uint64_t ram_bytes_ = 0;
};

// Takes memory for all folders that a guest may have. `take(bytes)` gives a Part.
template <typename Take>
void take_folder_links(monitored::FoldersStart& start, const Take& take) {
    for (monitored::FolderStart& folder : start.folders) {
        folder.link = take(sizeof(monitored::FolderLink));
    }
}

} // namespace previrt
