// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/choice.hpp"

#include "host/input_error.hpp"
#include "inplace-vmm/backend/disks.hpp"

namespace previrt {

namespace {

constexpr const char* forms =
    "FILE[,ro][,snapshot][,cache=unsafe][,format=raw]; a comma in the file's name is doubled";

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
        std::string_view rest = text_;
        choice_.path = take_path(rest);
        if (choice_.path.empty()) {
            refuse("there is no file's name; it is " + std::string(forms));
        }
        while (!rest.empty()) {
            rest.remove_prefix(1); // the comma
            const std::string_view part = rest.substr(0, rest.find(','));
            rest.remove_prefix(part.size());
            take(part);
        }
        if (choice_.is_read_only && choice_.is_snapshot) {
            refuse("a disk that is read only has no writes to forget: leave out 'ro' or 'snapshot'");
        }
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

    void take(std::string_view part) {
        constexpr std::string_view format = "format=";
        if (part == "ro") {
            set(choice_.is_read_only, part);
        } else if (part == "snapshot") {
            set(choice_.is_snapshot, part);
        } else if (part == "cache=unsafe") {
            set(choice_.is_unsafe, part);
        } else if (part == "format=raw") {
            set(choice_.says_format, part);
        } else if (part.starts_with(format)) {
            const std::string other(part.substr(format.size()));
            refuse("the only format so far is raw; `qemu-img convert -f " +
                   (other.empty() ? std::string("FORMAT") : other) + " -O raw " + choice_.path +
                   " NEW` makes a raw file of another");
        } else {
            refuse("'" + std::string(part) + "' is not understood there; it is " + forms);
        }
    }

    std::string_view text_;
    DiskChoice choice_;
};

} // namespace

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
