// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/choice.hpp"

#include "host/input_error.hpp"
#include "inplace-vmm/backend/disks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace previrt {

namespace {

constexpr const char* forms = "FILE[,ro][,snapshot][,cache=unsafe][,format=FORMAT][,backing=FILE"
                              "[,backing-format=FORMAT]]; a comma in a file's name is doubled";

// Those of other programs that are in use, and that QEMU reads and writes.
constexpr std::array<std::string_view, 6> formats = {"raw", "qcow2", "vmdk", "vdi", "vpc", "vhdx"};
constexpr std::size_t most_backing_files = 16;

// Removes the file's name from the text, up to the comma that is not doubled, which stays.
std::string take_path(std::string_view& text) {
    std::string path;
    while (!text.empty()) {
        if (text.front() == ',') {
            if (!text.starts_with(",,")) {
                break;
            }
            text.remove_prefix(1);
        }
        path += text.front();
        text.remove_prefix(1);
    }
    return path;
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    DiskChoice parse() {
        constexpr std::string_view backing = "backing=";
        std::string_view rest = text_;
        choice_.path = take_path(rest);
        if (choice_.path.empty()) {
            refuse("there is no file's name; it is " + std::string(forms));
        }
        while (!rest.empty()) {
            rest.remove_prefix(1); // the comma
            if (rest.starts_with(backing)) {
                rest.remove_prefix(backing.size());
                take_backing(take_path(rest));
                continue;
            }
            const std::string_view part = rest.substr(0, rest.find(','));
            rest.remove_prefix(part.size());
            take(part);
        }
        if (choice_.is_read_only && choice_.is_snapshot) {
            refuse("a disk that is read only has no writes to forget: leave out 'ro' or 'snapshot'");
        }
        refuse_useless_backing();
        return choice_;
    }

private:
    [[noreturn]] void refuse(const std::string& reason) const {
        throw InputError("--disk " + std::string(text_) + ": " + reason);
    }

    void set(bool& property, std::string_view part) const {
        if (property) {
            refuse("'" + std::string(part) + "' is there twice");
        }
        property = true;
    }

    void set_format(std::string& format, std::string_view part, std::string_view chosen) const {
        if (!format.empty()) {
            refuse("'" + std::string(part) + "' is there twice");
        }
        if (std::ranges::find(formats, chosen) == formats.end()) {
            std::string known;
            for (const std::string_view name : formats) {
                known += (known.empty() ? "" : ", ") + std::string(name);
            }
            refuse("the formats are " + known + "; `qemu-img convert -f " +
                   (chosen.empty() ? std::string("FORMAT") : std::string(chosen)) + " -O qcow2 " +
                   choice_.path + " NEW` makes one of them of another");
        }
        format = chosen;
    }

    void take_backing(std::string path) {
        if (path.empty()) {
            refuse("'backing=' has no file's name");
        }
        if (choice_.backing.size() == most_backing_files) {
            refuse("an image has " + std::to_string(most_backing_files) + " backing files at most");
        }
        choice_.backing.push_back({.path = std::move(path), .format = {}});
    }

    void refuse_useless_backing() const {
        std::string_view format = choice_.format;
        std::string_view path = choice_.path;
        for (const BackingChoice& backing : choice_.backing) {
            if (!has_backing_files(format)) {
                refuse("'backing=" + backing.path + "': " + std::string(path) + " is " +
                       (format.empty() ? std::string("raw") : std::string(format)) +
                       ", and only qcow2 and vmdk have backing files");
            }
            format = backing.format;
            path = backing.path;
        }
    }

    void take(std::string_view part) {
        constexpr std::string_view format = "format=";
        constexpr std::string_view backing_format = "backing-format=";
        if (part == "ro") {
            set(choice_.is_read_only, part);
        } else if (part == "snapshot") {
            set(choice_.is_snapshot, part);
        } else if (part == "cache=unsafe") {
            set(choice_.is_unsafe, part);
        } else if (part.starts_with(format)) {
            set_format(choice_.format, part, part.substr(format.size()));
        } else if (part.starts_with(backing_format) && !choice_.backing.empty()) {
            set_format(choice_.backing.back().format, part, part.substr(backing_format.size()));
        } else {
            refuse("'" + std::string(part) + "' is not understood there; it is " + forms);
        }
    }

    std::string_view text_;
    DiskChoice choice_;
};

} // namespace

bool has_backing_files(std::string_view format) {
    return format == "qcow2" || format == "vmdk";
}

DiskChoice parse_disk(std::string_view text) {
    return Parser(text).parse();
}

std::vector<DiskChoice> parse_disks(const std::vector<std::string>& texts) {
    if (texts.size() > backend::most_disks) {
        throw InputError("--disk: a guest has " + std::to_string(backend::most_disks) + " disks at most");
    }
    std::vector<DiskChoice> choices;
    choices.reserve(texts.size());
    for (const std::string& text : texts) {
        choices.push_back(parse_disk(text));
    }
    return choices;
}

} // namespace previrt
