// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/disk/image.hpp"
#include "monitor/server/server_process.hpp"

#include <cstdint>
#include <string>

namespace previrt {

// A process of qemu-storage-daemon, which makes a disk of an image. It has the image's files, its end of two
// connections, and nothing else of this machine: see storage_daemon_confinement.cpp.
class StorageDaemon {
public:
    // Takes the files. Throws InputError if this machine lacks something, or if the image is refused: the
    // message names the file.
    StorageDaemon(Image image, bool is_unsafe);
    StorageDaemon(const StorageDaemon&) = delete;
    StorageDaemon& operator=(const StorageDaemon&) = delete;
    // Waits for its end: the image is whole then, and no longer locked.
    ~StorageDaemon();

    // Of the disk.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    // To be taken once: a connection, for the NBD protocol.
    [[nodiscard]] Descriptor take_connection() { return std::move(connection_); }
    [[nodiscard]] pid_t process() const { return process_.process(); }
    // That it has ended, and its last message. Empty: there is neither. `is_lost`: its connection has ended,
    // and it takes a moment more.
    [[nodiscard]] std::string describe_trouble(bool is_lost);

private:
    void start(bool is_unsafe);
    void examine();
    void end();
    [[nodiscard]] std::string ask(const std::string& command) const;
    [[nodiscard]] std::string read_line() const;
    [[noreturn]] void refuse();

    Image image_;
    Descriptor control_; // QEMU's machine protocol
    Descriptor connection_;
    ServerProcess process_;
    std::uint64_t bytes_ = 0;
};

// Throws InputError if the program is missing.
void require_storage_daemon();

// Examines an image as a daemon would open it for a guest, for a program that then opens it itself, by the
// same descriptors. Throws InputError.
void examine_image(Image& image);

// Starts a daemon, and ends it. Returns a finding; throws InputError if this machine serves no images.
std::string probe_images();

} // namespace previrt
