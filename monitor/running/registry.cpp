// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/running/registry.hpp"

#include "host/input_error.hpp"
#include "monitor/options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <thread>
#include <type_traits>
#include <unistd.h>

namespace previrt {

namespace {

// Of sockets. No name has one: names have no ".".
constexpr const char* sessions_suffix = ".socket";
constexpr const char* consoles_suffix = ".console";
constexpr const char* counts_suffix = ".counts";

[[noreturn]] void fail(const std::string& place) {
    throw InputError(place + ": " + std::generic_category().message(errno));
}

std::string directory_path() {
    if (geteuid() == 0) {
        return "/run/previrt";
    }
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe)
    return runtime != nullptr && *runtime == '/' ? std::string(runtime) + "/previrt"
                                                 : "/tmp/previrt-" + std::to_string(geteuid());
}

// Another user could have made it in /tmp.
std::string own_directory() {
    std::string path = directory_path();
    constexpr mode_t own = 0700;
    constexpr mode_t of_others = 077;
    struct stat status{};
    if ((mkdir(path.c_str(), own) != 0 && errno != EEXIST) || lstat(path.c_str(), &status) != 0) {
        fail(path);
    }
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & of_others) != 0) {
        throw InputError(path +
                         ": this must be a directory of this user's that no other can open; remove it");
    }
    return path;
}

std::string path_of(const std::string& name) {
    return own_directory() + '/' + name;
}

struct flock whole_file() {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

bool try_to_lock(const Descriptor& file) {
    struct flock lock = whole_file();
    return fcntl(file.number(), F_OFD_SETLK, &lock) == 0;
}

bool is_locked(const Descriptor& file) {
    struct flock lock = whole_file();
    return fcntl(file.number(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Descriptor open_entry(const std::string& path, int flags) {
    constexpr mode_t own = 0600;
    return Descriptor(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, own));
}

// Held while an entry is made, written, read or removed. Without it, one process could remove what another
// has just locked, or read half of a description.
Descriptor lock_directory() {
    const std::string path = own_directory() + "/.lock";
    Descriptor file = open_entry(path, O_RDWR | O_CREAT);
    struct flock lock = whole_file();
    if (file.number() < 0 || fcntl(file.number(), F_OFD_SETLKW, &lock) != 0) {
        fail(path);
    }
    return file;
}

void remove_files(const std::string& path) {
    unlink((path + sessions_suffix).c_str());
    unlink((path + consoles_suffix).c_str());
    unlink((path + counts_suffix).c_str());
    unlink(path.c_str());
}

bool is_name(const std::string& name) {
    constexpr std::size_t longest = 63;
    const auto is_common = [](char character) {
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               (character >= '0' && character <= '9');
    };
    return !name.empty() && name.size() <= longest && is_common(name.front()) &&
           std::ranges::all_of(name, [&](char character) {
               return is_common(character) || character == '-' || character == '_';
           });
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        throw InputError(path + ": this is longer than a socket's path may be");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

Descriptor listen_at(const std::string& path) {
    constexpr int most_waiting = 64;
    const sockaddr_un address = address_of(path);
    unlink(path.c_str()); // of a run that was killed
    Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listener.number() < 0 ||
        bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener.number(), most_waiting) != 0) {
        fail(path);
    }
    return listener;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

std::int64_t now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::string contents_of(const Descriptor& file) {
    std::array<char, 65536> room{};
    const ssize_t bytes = pread(file.number(), room.data(), room.size(), 0);
    return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

// A value of another kind counts as none: another program may have written the file.
template <typename Value>
Value value_of(const nlohmann::json& entry, const char* name) {
    const auto found = entry.find(name);
    Value value{};
    if (found == entry.end()) {
        return value;
    }
    if constexpr (std::is_same_v<Value, std::string>) {
        return found->is_string() ? found->template get<Value>() : value;
    } else if constexpr (std::is_same_v<Value, bool>) {
        return found->is_boolean() && found->template get<Value>();
    } else {
        return found->is_number_integer() ? found->template get<Value>() : value;
    }
}

RunningGuest read_entry(const std::string& name, const Descriptor& file) {
    const auto json = nlohmann::json::parse(contents_of(file), nullptr, false);
    const nlohmann::json entry = json.is_object() ? json : nlohmann::json::object();
    return {.name = name,
            .process = value_of<pid_t>(entry, "process"),
            .started = value_of<std::int64_t>(entry, "started"),
            .place = value_of<std::string>(entry, "place"),
            .kernel = value_of<std::string>(entry, "kernel"),
            .command = value_of<std::string>(entry, "command"),
            .memory = value_of<std::uint64_t>(entry, "memory"),
            .takes_commands = value_of<bool>(entry, "takes_commands")};
}

std::optional<RunningGuest> find(const std::string& name) {
    const Descriptor file = open_entry(path_of(name), O_RDWR);
    if (file.number() < 0 || !is_locked(file)) {
        return {};
    }
    return read_entry(name, file);
}

} // namespace

GuestEntry::GuestEntry(const RunOptions& options)
    : process_(getpid()), started_(now()),
      name_(options.name.empty() ? std::to_string(process_) : options.name) {
    if (!is_name(name_)) {
        throw InputError("--name " + name_ +
                         ": a name has at most 63 letters, digits, '-' and '_', and begins with one of the "
                         "first two");
    }
    if (enter(options)) {
        return;
    }
    const std::optional<RunningGuest> guest = find_running_guest(name_);
    const bool was_killed = guest && kill(guest->process, 0) != 0 && errno == ESRCH;
    if (was_killed) {
        await_end(name_);
    }
    if ((guest && !was_killed) || !enter(options)) {
        throw InputError("--name " + name_ + ": a guest of this name runs already (previrt list)");
    }
}

bool GuestEntry::enter(const RunOptions& options) {
    const Descriptor lock = lock_directory();
    const std::string path = path_of(name_);
    file_ = open_entry(path, O_RDWR | O_CREAT);
    if (file_.number() < 0) {
        fail(path);
    }
    if (!try_to_lock(file_)) {
        return false;
    }
    if (ftruncate(file_.number(), 0) != 0) {
        fail(path);
    }
    write_description(options, "", false);
    sessions_ = listen_at(path + sessions_suffix);
    consoles_ = listen_at(path + consoles_suffix);
    counts_ = listen_at(path + counts_suffix);
    return true;
}

GuestEntry::~GuestEntry() {
    try {
        const Descriptor lock = lock_directory();
        remove_files(path_of(name_));
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n'; // the entry stays, and counts as none
    }
}

void GuestEntry::write_description(const RunOptions& options, const std::string& place,
                                   bool takes_commands) const {
    const std::string text = nlohmann::json{
        {"process", process_},
        {"started", started_},
        {"place", place},
        {"kernel", std::filesystem::absolute(options.kernel).string()},
        {"command", joined(options.command)},
        {"memory", options.memory},
        {"takes_commands",
         takes_commands}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (ftruncate(file_.number(), 0) != 0 ||
        pwrite(file_.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        fail(path_of(name_));
    }
}

void GuestEntry::describe(const RunOptions& options, const std::string& place, bool takes_commands) const {
    const Descriptor lock = lock_directory();
    write_description(options, place, takes_commands);
}

std::vector<RunningGuest> running_guests() {
    std::vector<RunningGuest> guests;
    const Descriptor lock = lock_directory();
    for (const auto& file : std::filesystem::directory_iterator(own_directory())) {
        const std::string name = file.path().filename();
        if (!is_name(name)) {
            continue;
        }
        if (const std::optional<RunningGuest> guest = find(name)) {
            guests.push_back(*guest);
        } else {
            remove_files(path_of(name)); // of a run that was killed
        }
    }
    std::ranges::sort(guests, {}, &RunningGuest::name);
    return guests;
}

std::optional<RunningGuest> find_running_guest(const std::string& name) {
    const Descriptor lock = lock_directory();
    return is_name(name) ? find(name) : std::nullopt;
}

RunningGuest running_guest(const std::string& name) {
    const std::optional<RunningGuest> guest = find_running_guest(name);
    if (!guest) {
        throw InputError(name + ": no guest of this name runs (previrt list)");
    }
    return *guest;
}

void await_end(const std::string& name) {
    constexpr auto longest_end = std::chrono::seconds(10);
    constexpr auto wait = std::chrono::milliseconds(10);
    const auto last = std::chrono::steady_clock::now() + longest_end;
    while (find_running_guest(name) && std::chrono::steady_clock::now() < last) {
        std::this_thread::sleep_for(wait);
    }
}

namespace {

const char* suffix_of(ClientKind kind) {
    switch (kind) {
    case ClientKind::session:
        break;
    case ClientKind::console:
        return consoles_suffix;
    case ClientKind::counts:
        return counts_suffix;
    }
    return sessions_suffix;
}

} // namespace

Descriptor connect_to_guest(const RunningGuest& guest, ClientKind kind) {
    const std::string path = path_of(guest.name) + suffix_of(kind);
    const sockaddr_un address = address_of(path);
    Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connection.number() < 0 ||
        connect(connection.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail(path);
    }
    return connection;
}

} // namespace previrt
