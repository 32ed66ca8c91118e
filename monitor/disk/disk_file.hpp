// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "inplace-vmm/backend/disks.hpp"
#include "monitor/disk/choice.hpp"
#include "monitor/disk/opened_file.hpp"
#include "monitor/disk/overlay.hpp"
#include "monitor/disk/storage_daemon.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace previrt {

// The open file or block device with a disk's bytes, or the image that a daemon makes a disk of.
class DiskFile {
public:
    // Throws InputError: the message names the file.
    explicit DiskFile(DiskChoice choice);

    [[nodiscard]] const DiskChoice& choice() const { return choice_; }
    [[nodiscard]] const backend::Disk& disk() const { return disk_; }
    // Takes the file out of this, for a program that serves the disk itself.
    [[nodiscard]] Descriptor take() { return std::move(file_.descriptor); }
    // -1: of an image.
    [[nodiscard]] int number() const { return file_.descriptor.number(); }
    // nullptr: it is no image.
    [[nodiscard]] StorageDaemon* daemon() const { return daemon_.get(); }
    // The writes of a snapshot. nullptr: they go to the file.
    [[nodiscard]] DiskOverlay* overlay() { return overlay_ ? &*overlay_ : nullptr; }
    // A flush, and a durable write, reach stable storage.
    [[nodiscard]] bool is_durable() const { return !overlay_ && !choice_.is_unsafe; }

private:
    [[noreturn]] void refuse(const std::string& reason) const;
    void measure();
    void refuse_other_formats() const;
    [[nodiscard]] bool frees_space() const;

    DiskChoice choice_;
    OpenedFile file_;
    std::unique_ptr<StorageDaemon> daemon_;
    backend::Disk disk_{};
    std::optional<DiskOverlay> overlay_;
};

} // namespace previrt
