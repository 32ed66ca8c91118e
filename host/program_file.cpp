// SPDX-License-Identifier: BSD-2-Clause
#include "host/program_file.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

// Fixed numbers, so that names have one length whatever else this process has open: a machine may get them,
// and comparable runs must execute the same instructions.
constexpr int first_number = 100;

[[noreturn]] void fail(const std::string& path) {
    throw InputError(path + ": " + std::generic_category().message(errno));
}

Descriptor with_usual_number(const Descriptor& file, const std::string& path) {
    Descriptor moved(fcntl(file.number(), F_DUPFD_CLOEXEC, first_number));
    if (moved.number() < 0) {
        fail(path);
    }
    return moved;
}

Descriptor make_memory_file() {
    constexpr unsigned not_executable = 8; // MFD_NOEXEC_SEAL, since Linux 6.3
    Descriptor file(memfd_create("previrt-file", MFD_CLOEXEC | not_executable));
    return file.number() >= 0 || errno != EINVAL ? std::move(file)
                                                 : Descriptor(memfd_create("previrt-file", MFD_CLOEXEC));
}

Descriptor copy_to_memory(const Descriptor& file, const std::string& path) {
    constexpr std::size_t at_once = std::size_t{1} << 30U;
    Descriptor copy = make_memory_file();
    if (copy.number() < 0) {
        fail("memfd_create");
    }
    ssize_t copied = 0;
    do {
        copied = sendfile(copy.number(), file.number(), nullptr, at_once);
    } while (copied > 0 || (copied < 0 && errno == EINTR));
    if (copied < 0) {
        fail(path);
    }
    return copy;
}

} // namespace

Descriptor open_for_program(const std::string& path, Rights rights) {
    const Descriptor opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (opened.number() < 0) {
        fail(path);
    }
    Descriptor file = with_usual_number(opened, path);
    const std::string name = name_of_inherited(file);
    const auto opens = [&] { return open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0; };
    return try_with_rights(rights, opens) == 0 ? std::move(file)
                                               : with_usual_number(copy_to_memory(file, path), path);
}

std::string name_of_inherited(const Descriptor& descriptor) {
    return "/proc/self/fd/" + std::to_string(descriptor.number());
}

} // namespace previrt
