// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/storage_daemon.hpp"

#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/qemu/qemu.hpp"
#include "monitor/server/own_socket.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using nlohmann::json;

constexpr const char* program = "qemu-storage-daemon";
// At its end the daemon writes an image's data from its memory, and waits for the host's disk.
constexpr std::chrono::seconds patience(30);

[[noreturn]] void fail(const char* call) {
    throw InputError(std::string(call) + ": " + std::generic_category().message(errno));
}

// The daemon's words without the option that they are about.
std::string without_option(const std::string& message) {
    constexpr std::string_view end_of_option = "}: ";
    const std::size_t end = message.find(end_of_option);
    return printable(end == std::string::npos ? message : message.substr(end + end_of_option.size()));
}

std::string remedy_of(const std::string& message, const ImageFile& file) {
    if (message.starts_with("Could not open '") && message.ends_with("Permission denied")) {
        return "; previrt opens no file that only an image names. `qemu-img convert -f " + file.format +
               " -O qcow2 " + file.path + " NEW` makes one file of all";
    }
    if (message.starts_with("Image is not in") || message.starts_with("invalid ")) {
        return "; `qemu-img info " + file.path + "` says what it is";
    }
    return "";
}

} // namespace

void require_storage_daemon() {
    if (path_of_program(program).empty()) {
        throw InputError(std::string("--disk: an image is opened by ") + program +
                         ", which is missing (package qemu-system-common)");
    }
}

StorageDaemon::StorageDaemon(Image image, bool is_unsafe) : image_(std::move(image)) {
    start(is_unsafe);
    for (ImageFile& file : image_) {
        file.file.descriptor.close(); // so that the lock ends with the daemon
    }
    try {
        examine();
    } catch (const InputError&) {
        end();
        throw;
    }
}

void StorageDaemon::start(bool is_unsafe) {
    require_storage_daemon();
    OwnSocket ends = connect_to_own_socket();
    std::array<int, 2> numbers{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, numbers.data()) != 0) {
        fail("socketpair");
    }
    control_ = Descriptor(numbers[0]);
    const Descriptor its_control(numbers[1]);
    const std::string path = built_file(PREVIRT_STORAGE_DAEMON_CONFINEMENT);
    const Descriptor confinement(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (confinement.number() < 0) {
        fail(path.c_str());
    }
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    Pipe messages = make_message_pipe();
    std::string images;
    Program daemon{.arguments = {},
                   .directory = {},
                   .environment = {},
                   .rights = qemu_rights().rights,
                   .inherited = {ends.listening.number(), its_control.number(), confinement.number()},
                   .has_own_environment = true};
    for (const ImageFile& file : image_) {
        const int number = file.file.descriptor.number();
        daemon.inherited.push_back(number);
        images += std::to_string(number) + ":";
    }
    daemon.arguments = {program, "--blockdev",
                        describe_for_qemu(image_, is_unsafe, [this](std::size_t place) {
                            return "/image/" + std::to_string(image_[place].file.descriptor.number());
                        })};
    const std::array<std::string, 8> further = {
        "--nbd-server",
        "addr.type=fd,max-connections=1,addr.str=" + std::to_string(ends.listening.number()),
        "--export",
        std::string("type=nbd,id=disk,node-name=disk,name=,writable=") +
            (image_.front().is_written ? "on" : "off"),
        "--chardev",
        "socket,id=control,fd=" + std::to_string(its_control.number()),
        "--monitor",
        "chardev=control"};
    daemon.arguments.insert(daemon.arguments.end(), further.begin(), further.end());
    daemon.environment = {{"LD_PRELOAD", "/proc/self/fd/" + std::to_string(confinement.number())},
                          {"PREVIRT_IMAGES", images}};
    const pid_t process = start_program(
        daemon, {.input = nothing.number(), .output = nothing.number(), .error = messages.write.number()});
    process_ = ServerProcess(process, std::move(messages.read));
    connection_ = std::move(ends.connection);
}

StorageDaemon::~StorageDaemon() {
    end();
}

void StorageDaemon::end() {
    connection_.close();
    constexpr std::string_view quit = "{\"execute\":\"quit\"}\n";
    if (control_.number() >= 0 && process_.process() != 0) {
        (void)send(control_.number(), quit.data(), quit.size(), MSG_NOSIGNAL);
    }
    (void)process_.wait(patience);
}

std::string StorageDaemon::describe_trouble(bool is_lost) {
    constexpr std::chrono::seconds moment(5);
    std::string end;
    if (is_lost || process_.has_ended()) {
        end = std::string(program) +
              " serves the image no more: " + process_.wait(is_lost ? moment : std::chrono::seconds::zero());
    }
    const std::string message = without_option(process_.last_message());
    return end + (end.empty() || message.empty() ? "" : "; ") + message;
}

void StorageDaemon::refuse() {
    control_.close();
    connection_.close();
    const std::string end = process_.wait(patience);
    const std::string message = without_option(process_.last_message());
    refuse_disk(image_.front().path, message.empty() ? std::string(program) + " has ended: " + end
                                                     : message + remedy_of(message, image_.front()));
}

// Empty: the daemon has ended.
std::string StorageDaemon::read_line() const {
    constexpr std::size_t most = std::size_t{1} << 20U;
    std::string line;
    char character = 0;
    while (line.size() < most) {
        const ssize_t got = recv(control_.number(), &character, 1, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != 1) {
            return {};
        }
        if (character == '\n') {
            return line;
        }
        line += character;
    }
    return {};
}

std::string StorageDaemon::ask(const std::string& command) const {
    if (send(control_.number(), command.data(), command.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(command.size())) {
        return {};
    }
    std::string line = read_line();
    while (line.starts_with("{\"event\"") || line.starts_with("{\"timestamp\"")) {
        line = read_line();
    }
    return line;
}

// The daemon may be in the hands of an image.
void StorageDaemon::examine() {
    try {
        const std::string greeting = read_line();
        if (greeting.empty() || ask("{\"execute\":\"qmp_capabilities\"}\n").empty()) {
            refuse();
        }
        const std::string answer =
            ask("{\"execute\":\"query-named-block-nodes\",\"arguments\":{\"flat\":true}}\n");
        if (answer.empty()) {
            refuse();
        }
        bytes_ = judge_image(image_, json::parse(answer).at("return"));
    } catch (const json::exception&) {
        refuse_disk(image_.front().path, std::string(program) + " gives no answer that can be understood");
    }
}

void examine_image(Image& image) {
    Image same;
    for (const ImageFile& file : image) {
        same.push_back(
            {.path = file.path,
             .format = file.format,
             .file = {.descriptor = Descriptor(fcntl(file.file.descriptor.number(), F_DUPFD_CLOEXEC, 0)),
                      .is_device = file.file.is_device},
             .is_written = false});
    }
    {
        const StorageDaemon daemon(std::move(same), false);
    }
    for (const ImageFile& file : image) { // the daemon has given up its locks, which were ours
        lock_opened_file(file.path, file.file.descriptor, file.is_written);
    }
}

std::string probe_images() {
    constexpr off_t bytes = 1 << 20;
    Image image;
    image.push_back(
        {.path = "a file",
         .format = "raw",
         .file = {.descriptor = Descriptor(memfd_create("previrt-probe", MFD_CLOEXEC)), .is_device = false},
         .is_written = true});
    if (ftruncate(image.front().file.descriptor.number(), bytes) != 0) {
        fail("memfd_create");
    }
    const StorageDaemon daemon(std::move(image), false);
    return path_of_program(program) + " opens images of disks";
}

} // namespace previrt
