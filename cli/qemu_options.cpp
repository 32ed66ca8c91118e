// SPDX-License-Identifier: BSD-2-Clause
#include "cli/qemu_options.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace previrt {

namespace {

constexpr std::string_view page = " (docs/qemu-options.md)";
constexpr std::string_view nothing = "/dev/null";
constexpr std::string_view own_machine = "previrt";
constexpr std::string_view tag_of_root = "qemu-root"; // Linux mounts a root of 9p by the tag /dev/root

// The programs ask for a version of QEMU, to know its options.
constexpr std::string_view version =
    "QEMU emulator version 7.2.0, as far as qemu-system-previrt has its options (previrt " PREVIRT_VERSION
    ")\n";

struct List {
    std::string_view option;
    std::string_view text;
};
constexpr std::array lists = {
    List{.option = "-machine",
         .text = "previrt        the PC of previrt, in the best place that works here (default)\n"
                 "previrt-PLACE  the same in this place of `previrt run --on` (previrt doctor lists them)\n"
                 "pc, q35, microvm  the same as previrt\n"},
    List{.option = "-M", .text = "previrt, previrt-PLACE, pc, q35, microvm\n"},
    List{.option = "-cpu", .text = "host, max  the processor of this machine (default)\n"},
    List{.option = "-accel", .text = "kvm  as -machine previrt-kvm\n"},
    List{.option = "-device",
         .text = "name \"virtio-serial-pci\", and name \"virtserialport\", name \"virtconsole\": its ports\n"
                 "name \"vhost-user-fs-pci\", name \"virtio-9p-pci\": folders\n"
                 "name \"i6300esb\", name \"virtio-balloon-pci\", accepted without effect\n"},
};

InputError refused(std::string_view option, std::string_view value, std::string_view why) {
    InputError error(std::string(option) + (value.empty() ? "" : " ") + std::string(value) + ": " +
                     std::string(why) + std::string(page));
    return error;
}

// "first,name=value,...": QEMU doubles the commas of a value.
struct Fields {
    std::string first;
    std::vector<std::pair<std::string, std::string>> named;
};

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != ',') {
            parts.back() += text[i];
        } else if (i + 1 < text.size() && text[i + 1] == ',') {
            parts.back() += ',';
            ++i;
        } else {
            parts.emplace_back();
        }
    }
    return parts;
}

// `name_of_first`: the first part may have this name.
Fields parse(std::string_view option, std::string_view text, std::string_view name_of_first) {
    Fields fields;
    bool is_first = true;
    for (const std::string& part : split(text)) {
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
        if (equals == std::string::npos && !is_first) {
            throw refused(option, text, "'" + part + "' has no value");
        }
        if (is_first && (equals == std::string::npos || name == name_of_first)) {
            fields.first = equals == std::string::npos ? part : value;
        } else {
            fields.named.emplace_back(name, value);
        }
        is_first = false;
    }
    return fields;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const std::string digits(text);
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && stopped == end && !text.empty() ? std::optional(value) : std::nullopt;
}

// Without a suffix, mebibytes.
std::uint64_t bytes(std::string_view option, std::string_view text) {
    constexpr std::string_view suffixes = "BKMGT";
    constexpr unsigned bits_of_suffix = 10;
    std::size_t suffix = suffixes.find('M');
    std::string_view digits = text;
    if (!text.empty()) {
        const char last = text.back() >= 'a' ? static_cast<char>(text.back() - 'a' + 'A') : text.back();
        if (const std::size_t found = suffixes.find(last); found != std::string_view::npos) {
            suffix = found;
            digits.remove_suffix(1);
        }
    }
    const std::optional<std::uint64_t> value = number(digits);
    const auto shift = static_cast<unsigned>(suffix) * bits_of_suffix;
    if (!value || *value == 0 || *value > UINT64_MAX >> shift) {
        throw refused(option, text, "that is no size of memory");
    }
    return *value << shift;
}

// A name that begins with '-' is an option for previrt.
std::string as_file(const std::string& name) {
    return (name.starts_with('-') ? "./" : "") + name;
}

class Translation {
public:
    QemuCommand translate(std::span<const std::string> words);

private:
    struct Option {
        std::string_view name;
        bool has_value;
        void (Translation::*take)(const std::string& value);
    };
    static const std::array<Option, 30> options;

    // A stream of this machine's, which a device of the guest's uses.
    struct Stream {
        std::string file; // empty: standard input and output
        bool is_socket = false;
        bool is_used = false;
    };
    struct Port {
        std::string name; // empty: a console
        std::string stream;
    };
    // A folder, by a server that listens (a stream), or by a name of -fsdev.
    struct Folder {
        std::string source;
        std::string tag;
        bool has_server;
    };
    struct LocalFolder {
        std::string path;
        bool is_read_only = false;
        bool is_used = false;
    };

    void only(std::string_view value, std::string_view possible, std::string_view why) const;
    [[noreturn]] void refuse(std::string_view why) const { throw refused(option_, value_, why); }
    Stream& stream(const std::string& id);
    Stream& stream_of_bytes(const std::string& id);
    [[nodiscard]] std::string choose_console();
    [[nodiscard]] std::vector<QemuPort> choose_ports(const std::string& console);
    void add_folders(std::vector<std::string>& run);
    void check_streams() const;
    void put_folders_in_place_of_9p();
    void check_memory() const;
    [[nodiscard]] std::string choose_place() const;

    void ignore(const std::string& /*value*/) {}
    [[nodiscard]] std::vector<std::string> parse_accelerators(std::string_view names) const;
    void take_accelerator(const std::string& value);
    void take_append(const std::string& value) { append_ = value; }
    void take_bios(const std::string& value);
    void take_chardev(const std::string& value);
    void take_cpu(const std::string& value);
    void take_device(const std::string& value);
    void take_display(const std::string& value);
    void take_fsdev(const std::string& value);
    [[nodiscard]] std::map<std::string, std::string>
    properties(const Fields& fields, std::span<const std::string_view> known) const;
    void take_port(const Fields& fields);
    void take_folder(const Fields& fields);
    void take_9p(const Fields& fields);
    void take_initrd(const std::string& value) { initrd_ = value; }
    void take_kernel(const std::string& value) { kernel_ = value; }
    void take_kvm(const std::string& /*value*/) { accelerators_.emplace_back("kvm"); }
    void take_machine(const std::string& value);
    void take_memory(const std::string& value);
    void take_mon(const std::string& value);
    void take_monitor(const std::string& value);
    void take_network(const std::string& value);
    void take_nodefaults(const std::string& /*value*/) { has_defaults_ = false; }
    void take_nographic(const std::string& /*value*/) { is_nographic_ = true; }
    void take_numa(const std::string& value);
    void take_object(const std::string& value);
    void take_parallel(const std::string& value);
    void take_processors(const std::string& value);
    void take_serial(const std::string& value);

    std::string option_; // that is taken
    std::string value_;
    std::string kernel_;
    std::string initrd_;
    std::string append_;
    std::string place_;
    std::vector<std::string> accelerators_; // each is as good as the others
    std::vector<std::string> accelerators_of_machine_;
    std::uint64_t memory_ = std::uint64_t{128} << 20U; // QEMU's
    std::uint64_t processors_ = 1;
    bool has_defaults_ = true;
    bool is_nographic_ = false;
    bool has_network_ = false;
    std::optional<std::string> serial_;
    std::map<std::string, Stream> streams_;
    std::map<std::string, std::uint64_t> backends_; // of memory: their sizes
    std::vector<std::string> used_backends_;
    std::vector<std::string> monitors_; // the streams that they share
    bool has_ports_device_ = false;
    std::vector<Port> ports_;
    std::vector<Folder> folders_;
    std::map<std::string, LocalFolder> local_folders_;
};

const std::array<Translation::Option, 30> Translation::options = {{
    {.name = "-M", .has_value = true, .take = &Translation::take_machine},
    {.name = "-accel", .has_value = true, .take = &Translation::take_accelerator},
    {.name = "-append", .has_value = true, .take = &Translation::take_append},
    {.name = "-bios", .has_value = true, .take = &Translation::take_bios},
    {.name = "-chardev", .has_value = true, .take = &Translation::take_chardev},
    {.name = "-cpu", .has_value = true, .take = &Translation::take_cpu},
    {.name = "-device", .has_value = true, .take = &Translation::take_device},
    {.name = "-display", .has_value = true, .take = &Translation::take_display},
    {.name = "-echr", .has_value = true, .take = &Translation::ignore},
    {.name = "-enable-kvm", .has_value = false, .take = &Translation::take_kvm},
    {.name = "-fsdev", .has_value = true, .take = &Translation::take_fsdev},
    {.name = "-initrd", .has_value = true, .take = &Translation::take_initrd},
    {.name = "-kernel", .has_value = true, .take = &Translation::take_kernel},
    {.name = "-m", .has_value = true, .take = &Translation::take_memory},
    {.name = "-machine", .has_value = true, .take = &Translation::take_machine},
    {.name = "-mon", .has_value = true, .take = &Translation::take_mon},
    {.name = "-monitor", .has_value = true, .take = &Translation::take_monitor},
    {.name = "-name", .has_value = true, .take = &Translation::ignore},
    {.name = "-net", .has_value = true, .take = &Translation::take_network},
    {.name = "-nic", .has_value = true, .take = &Translation::take_network},
    {.name = "-no-reboot", .has_value = false, .take = &Translation::ignore},
    {.name = "-no-user-config", .has_value = false, .take = &Translation::ignore},
    {.name = "-nodefaults", .has_value = false, .take = &Translation::take_nodefaults},
    {.name = "-nographic", .has_value = false, .take = &Translation::take_nographic},
    {.name = "-numa", .has_value = true, .take = &Translation::take_numa},
    {.name = "-object", .has_value = true, .take = &Translation::take_object},
    {.name = "-parallel", .has_value = true, .take = &Translation::take_parallel},
    {.name = "-serial", .has_value = true, .take = &Translation::take_serial},
    {.name = "-smp", .has_value = true, .take = &Translation::take_processors},
    {.name = "-vga", .has_value = true, .take = &Translation::take_display},
}};

void Translation::only(std::string_view value, std::string_view possible, std::string_view why) const {
    if (value != possible) {
        refuse(why);
    }
}

std::vector<std::string> Translation::parse_accelerators(std::string_view names) const {
    std::vector<std::string> accelerators;
    for (std::size_t begin = 0; begin <= names.size();) {
        const std::size_t end = std::min(names.find(':', begin), names.size());
        const std::string_view name = names.substr(begin, end - begin);
        if (name != "kvm" && name != "tcg") {
            refuse("previrt knows the accelerator kvm");
        }
        accelerators.emplace_back(name);
        begin = end + 1;
    }
    return accelerators;
}

void Translation::take_accelerator(const std::string& value) {
    for (const std::string& name : parse_accelerators(value)) {
        accelerators_.push_back(name);
    }
}

void Translation::take_bios(const std::string& value) {
    only(value, "qboot.rom", "previrt starts the kernel itself, without firmware");
}

void Translation::take_chardev(const std::string& value) {
    const Fields fields = parse(option_, value, "backend");
    std::string id;
    std::string file = fields.first == "null" ? std::string(nothing) : "";
    for (const auto& [name, text] : fields.named) {
        if (name == "id") {
            id = text;
        } else if (name == "path" && (fields.first == "file" || fields.first == "socket")) {
            file = text;
        } else if (fields.first != "stdio" || (name != "signal" && name != "mux")) {
            refuse("previrt does not know '" + name + "'");
        }
    }
    const bool is_socket = fields.first == "socket";
    if (fields.first != "stdio" && fields.first != "null" && fields.first != "file" && !is_socket) {
        refuse("previrt knows stdio, null, file, and socket for vhost-user-fs");
    }
    if (id.empty() || ((fields.first == "file" || is_socket) && file.empty())) {
        refuse("it has no id, or no path");
    }
    if (!streams_.emplace(id, Stream{.file = file, .is_socket = is_socket}).second) {
        refuse("another one has this id");
    }
}

void Translation::take_cpu(const std::string& value) {
    const Fields fields = parse(option_, value, "");
    if (fields.first != "host" && fields.first != "max") {
        refuse("a guest has the processor of this machine: host or max");
    }
    for (const auto& [name, text] : fields.named) {
        if (name != "topoext") {
            refuse("previrt does not know '" + name + "'");
        }
    }
}

void Translation::take_device(const std::string& value) {
    using Take = void (Translation::*)(const Fields& fields);
    struct Device {
        std::string_view name;
        Take take;
    };
    // -device is for a machine without PCI.
    static constexpr std::array devices = {
        Device{.name = "virtserialport", .take = &Translation::take_port},
        Device{.name = "virtconsole", .take = &Translation::take_port},
        Device{.name = "vhost-user-fs-pci", .take = &Translation::take_folder},
        Device{.name = "vhost-user-fs-device", .take = &Translation::take_folder},
        Device{.name = "virtio-9p-pci", .take = &Translation::take_9p},
        Device{.name = "virtio-9p-device", .take = &Translation::take_9p},
    };
    const Fields fields = parse(option_, value, "driver");
    const std::string& name = fields.first;
    if (const auto* const device = std::ranges::find(devices, name, &Device::name); device != devices.end()) {
        (this->*device->take)(fields);
    } else if (name == "virtio-serial" || name == "virtio-serial-pci" || name == "virtio-serial-device") {
        static constexpr std::array<std::string_view, 2> known = {"id", "max_ports"};
        (void)properties(fields, known);
        has_ports_device_ = true;
    } else if (name == "i6300esb" || name == "virtio-balloon-pci" || name == "virtio-balloon-device") {
        static constexpr std::array<std::string_view, 1> known = {"id"};
        (void)properties(fields, known);
    } else {
        refuse("previrt's guests have no such device");
    }
}

std::map<std::string, std::string> Translation::properties(const Fields& fields,
                                                           std::span<const std::string_view> known) const {
    std::map<std::string, std::string> found;
    for (const auto& [name, text] : fields.named) {
        if (std::ranges::find(known, name) == known.end()) {
            refuse("previrt does not know '" + name + "'");
        }
        found[name] = text;
    }
    return found;
}

// All virtio-serial devices of the command line are one device, as QEMU puts their ports on the first.
void Translation::take_port(const Fields& fields) {
    static constexpr std::array<std::string_view, 3> known = {"chardev", "id", "name"};
    std::map<std::string, std::string> given = properties(fields, known);
    if (!has_ports_device_) {
        refuse("no virtio-serial-pci is in front of it");
    }
    const bool is_console = fields.first == "virtconsole";
    if (given["chardev"].empty() || (!is_console && given["name"].empty())) {
        refuse("it has no chardev, or no name");
    }
    ports_.push_back({.name = is_console ? "" : given["name"], .stream = given["chardev"]});
}

void Translation::take_folder(const Fields& fields) {
    static constexpr std::array<std::string_view, 3> known = {"chardev", "id", "tag"};
    std::map<std::string, std::string> given = properties(fields, known);
    if (given["chardev"].empty() || given["tag"].empty()) {
        refuse("it has no chardev, or no tag");
    }
    folders_.push_back({.source = given["chardev"], .tag = given["tag"], .has_server = true});
}

void Translation::take_9p(const Fields& fields) {
    static constexpr std::array<std::string_view, 3> known = {"fsdev", "id", "mount_tag"};
    std::map<std::string, std::string> given = properties(fields, known);
    std::string tag = given["mount_tag"];
    tag = tag == "/dev/root" ? std::string(tag_of_root) : tag;
    if (given["fsdev"].empty() || tag.empty() || tag.find('/') != std::string::npos) {
        refuse("it has no fsdev, or no mount_tag without a slash");
    }
    folders_.push_back({.source = given["fsdev"], .tag = tag, .has_server = false});
}

void Translation::take_fsdev(const std::string& value) {
    const Fields fields = parse(option_, value, "fsdriver");
    if (fields.first != "local") {
        refuse("previrt knows local");
    }
    std::string id;
    LocalFolder folder;
    for (const auto& [name, text] : fields.named) {
        if (name == "id") {
            id = text;
        } else if (name == "path") {
            folder.path = text;
        } else if (name == "readonly" && (text == "on" || text == "off")) {
            folder.is_read_only = text == "on";
        } else if ((name != "security_model" || text != "none") && name != "multidevs") {
            refuse("previrt does not know '" + name + "=" + text + "'");
        }
    }
    if (id.empty() || folder.path.empty()) {
        refuse("it has no id, or no path");
    }
    if (!local_folders_.emplace(id, folder).second) {
        refuse("another one has this id");
    }
}

void Translation::take_display(const std::string& value) {
    only(value, "none", "a guest has no screen: none");
}

void Translation::take_machine(const std::string& value) {
    const Fields fields = parse(option_, value, "type");
    const std::string own = std::string(own_machine) + "-";
    if (fields.first.starts_with(own)) {
        place_ = fields.first.substr(own.size());
    } else if (fields.first == own_machine) {
        place_.clear();
    } else if (!fields.first.empty() && fields.first != "pc" && fields.first != "q35" &&
               fields.first != "microvm") {
        refuse("previrt has one machine, a PC: previrt, pc, q35 or microvm");
    }
    for (const auto& [name, text] : fields.named) {
        if (name == "accel") {
            accelerators_of_machine_ = parse_accelerators(text); // the last one counts
        } else if (name == "memory-backend") {
            used_backends_.push_back(text);
        } else if ((name != "pcie" && name != "rtc") || text != "on") {
            refuse("previrt does not know '" + name + "=" + text + "'");
        }
    }
}

void Translation::take_memory(const std::string& value) {
    const Fields fields = parse(option_, value, "size");
    if (!fields.named.empty()) {
        refuse("previrt knows a size alone");
    }
    memory_ = bytes(option_, fields.first);
}

void Translation::take_mon(const std::string& value) {
    const Fields fields = parse(option_, value, "chardev");
    if (fields.first.empty() || !fields.named.empty()) {
        refuse("previrt knows chardev=ID");
    }
    monitors_.push_back(fields.first);
}

void Translation::take_monitor(const std::string& value) {
    only(value, "none", "previrt has no monitor: none");
}

void Translation::take_network(const std::string& value) {
    if (value == "none") {
        has_network_ = false;
    } else if (value == "user" && option_ == "-nic") {
        has_network_ = true;
    } else {
        refuse("previrt knows none, and -nic user");
    }
}

void Translation::take_numa(const std::string& value) {
    const Fields fields = parse(option_, value, "");
    if (fields.first != "node" || fields.named.size() != 1 || fields.named[0].first != "memdev") {
        refuse("previrt knows node,memdev=ID");
    }
    used_backends_.push_back(fields.named[0].second);
}

void Translation::take_object(const std::string& value) {
    const Fields fields = parse(option_, value, "qom-type");
    if (fields.first != "memory-backend-memfd") {
        refuse("previrt knows memory-backend-memfd");
    }
    std::string id;
    std::uint64_t size = 0;
    for (const auto& [name, text] : fields.named) {
        if (name == "id") {
            id = text;
        } else if (name == "size") {
            size = bytes(option_, text);
        } else if (name != "share") {
            refuse("previrt does not know '" + name + "'");
        }
    }
    if (id.empty() || size == 0) {
        refuse("it has no id, or no size");
    }
    backends_[id] = size;
}

void Translation::take_parallel(const std::string& value) {
    only(value, "none", "a guest has no parallel port: none");
}

void Translation::take_processors(const std::string& value) {
    const Fields fields = parse(option_, value, "cpus");
    const std::optional<std::uint64_t> found = number(fields.first);
    if (!found || *found == 0 || !fields.named.empty()) {
        refuse("previrt knows a number of processors");
    }
    processors_ = *found;
}

void Translation::take_serial(const std::string& value) {
    if (serial_) {
        refuse("previrt has the first serial port alone");
    }
    serial_ = value;
}

Translation::Stream& Translation::stream(const std::string& id) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) {
        throw refused("-chardev", "", "none has the id '" + id + "'");
    }
    if (found->second.is_used) {
        throw refused("-chardev", "", "two devices use '" + id + "'");
    }
    found->second.is_used = true;
    return found->second;
}

Translation::Stream& Translation::stream_of_bytes(const std::string& id) {
    Stream& found = stream(id);
    if (found.is_socket) {
        throw refused("-chardev", "socket,id=" + id, "previrt has a socket for vhost-user-fs alone");
    }
    return found;
}

// The file of the console; empty: standard input and output.
std::string Translation::choose_console() {
    constexpr std::string_view of_file = "file:";
    constexpr std::string_view of_stream = "chardev:";
    const std::string serial =
        serial_.value_or(is_nographic_ && has_defaults_ ? std::string("mon:stdio") : "none");
    std::string file;
    std::string id;
    if (serial == "none" || serial == "null") {
        file = nothing;
    } else if (serial.starts_with(of_file) && serial.size() > of_file.size()) {
        file = serial.substr(of_file.size());
    } else if (serial.starts_with(of_stream)) {
        id = serial.substr(of_stream.size());
        file = stream_of_bytes(id).file;
    } else if (serial != "stdio" && serial != "mon:stdio") {
        throw refused("-serial", serial, "previrt knows stdio, mon:stdio, file:PATH, null, none, chardev:ID");
    }
    for (const std::string& monitor : monitors_) {
        if (id.empty() || monitor != id) {
            throw refused("-mon", "chardev=" + monitor,
                          "previrt has no monitor: it may only share the console's stream");
        }
    }
    return file;
}

std::vector<QemuPort> Translation::choose_ports(const std::string& console) {
    std::vector<QemuPort> ports;
    bool is_standard_taken = console.empty();
    for (const Port& port : ports_) {
        const std::string& file = stream_of_bytes(port.stream).file;
        if (file.empty() && is_standard_taken) {
            throw refused("-chardev", "stdio,id=" + port.stream,
                          "standard input and output have another user already");
        }
        is_standard_taken = is_standard_taken || file.empty();
        ports.push_back({.name = port.name, .file = file});
    }
    return ports;
}

void Translation::add_folders(std::vector<std::string>& run) {
    for (const Folder& folder : folders_) {
        if (folder.has_server) {
            const Stream& server = stream(folder.source);
            if (!server.is_socket) {
                throw refused("-device", "vhost-user-fs", "'" + folder.source + "' is no socket");
            }
            run.push_back("--share-socket=" + server.file + ":" + folder.tag);
            continue;
        }
        const auto found = local_folders_.find(folder.source);
        if (found == local_folders_.end() || found->second.is_used) {
            throw refused("-device", "virtio-9p",
                          "no -fsdev has the id '" + folder.source + "', or it has two devices");
        }
        found->second.is_used = true;
        run.push_back("--share=" + found->second.path + ":" + folder.tag +
                      (found->second.is_read_only ? ",ro" : ""));
    }
    for (const auto& [name, folder] : local_folders_) {
        if (!folder.is_used) {
            throw refused("-fsdev", "", "no device uses '" + name + "'");
        }
    }
}

void Translation::check_streams() const {
    for (const auto& [name, stream] : streams_) {
        if (!stream.is_used) {
            throw refused("-chardev", "", "no device uses '" + name + "'");
        }
    }
}

// The words of the kernel's command line that are about 9p. A guest has its folders by virtiofs.
void Translation::put_folders_in_place_of_9p() {
    constexpr std::string_view of_9p = "=9p";
    if (std::ranges::all_of(folders_, &Folder::has_server)) {
        return;
    }
    std::string changed;
    for (std::size_t begin = 0; begin < append_.size();) {
        const std::size_t end = std::min(append_.find(' ', begin), append_.size());
        std::string word = append_.substr(begin, end - begin);
        if (word == "rootfstype=9p") {
            word = "rootfstype=virtiofs root=" + std::string(tag_of_root);
        } else if (word.ends_with("fstype=9p")) {
            word.replace(word.size() - of_9p.size(), of_9p.size(), "=virtiofs");
        } else if (word.starts_with("rootflags=") && word.find("trans=virtio") != std::string::npos) {
            word.clear();
        }
        changed += word + (end < append_.size() ? " " : "");
        begin = end + 1;
    }
    append_ = changed;
}

void Translation::check_memory() const {
    for (const std::string& id : used_backends_) {
        const auto found = backends_.find(id);
        if (found == backends_.end() || found->second != memory_) {
            throw refused("-object", "", "no memory has the id '" + id + "' and the size that -m names");
        }
    }
    if (used_backends_.size() != backends_.size() || backends_.size() > 1) {
        throw refused("-object", "", "a guest's memory is one piece, which -numa or -machine names");
    }
}

std::string Translation::choose_place() const {
    const auto is_named = [&](std::string_view name) {
        return std::ranges::find(accelerators_, name) != accelerators_.end() ||
               std::ranges::find(accelerators_of_machine_, name) != accelerators_of_machine_.end();
    };
    const bool has_kvm = is_named("kvm");
    const bool has_tcg = is_named("tcg");
    if (has_tcg && !has_kvm) {
        throw refused("-accel", "tcg", "previrt does not emulate the processor; leave it out");
    }
    const bool is_kvm_asked = has_kvm && !has_tcg;
    if (is_kvm_asked && !place_.empty() && place_ != "kvm") {
        throw refused("-accel", "kvm", "-machine previrt-" + place_ + " is another place");
    }
    return is_kvm_asked ? "kvm" : place_;
}

QemuCommand Translation::translate(std::span<const std::string> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        value_.clear();
        option_ = words[i].starts_with("--") ? words[i].substr(1) : words[i];
        if (option_ == "-version") {
            return {.answer = std::string(version), .run = {}, .ports = {}, .console = {}};
        }
        if (option_ == "-help" || option_ == "-h") {
            std::string text = std::string(version) + "\n";
            for (const Option& option : options) {
                text += std::string(option.name) + (option.has_value ? " ..." : "") + "\n";
            }
            return {.answer = text, .run = {}, .ports = {}, .console = {}};
        }
        if (!option_.starts_with('-')) {
            value_ = "";
            refuse("a disk without an option is one of QEMU's alone");
        }
        const auto* const option = std::ranges::find(options, option_, &Option::name);
        if (option == options.end()) {
            refuse("qemu-system-previrt does not have this option");
        }
        if (option->has_value) {
            if (++i == words.size()) {
                refuse("its value is missing");
            }
            value_ = words[i];
            if (value_ == "help" || value_ == "?") {
                if (const auto* const list = std::ranges::find(lists, option_, &List::option);
                    list != lists.end()) {
                    return {.answer = std::string(list->text), .run = {}, .ports = {}, .console = {}};
                }
            }
        }
        (this->*option->take)(value_);
    }
    if (kernel_.empty()) {
        throw refused("-kernel", "", "it is missing, and previrt runs a kernel");
    }
    check_memory();
    put_folders_in_place_of_9p();
    QemuCommand command{
        .answer = {}, .run = {"run", as_file(kernel_), "--quiet"}, .ports = {}, .console = choose_console()};
    command.ports = choose_ports(command.console);
    const auto add = [&](const std::string& option, const std::string& value) {
        command.run.push_back(option + "=" + value);
    };
    if (const std::string place = choose_place(); !place.empty()) {
        add("--on", place);
    }
    add("--memory", std::to_string(memory_));
    add("--cpus", std::to_string(processors_));
    if (has_network_) {
        add("--net", "user");
    }
    add_folders(command.run);
    check_streams();
    if (!initrd_.empty()) {
        add("--initrd", as_file(initrd_));
    }
    if (!append_.empty()) {
        add("--append", append_);
    }
    return command;
}

} // namespace

QemuCommand translate_qemu_options(std::span<const std::string> words) {
    return Translation().translate(words);
}

} // namespace previrt
