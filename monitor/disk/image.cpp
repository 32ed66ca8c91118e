// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/image.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

using nlohmann::json;

constexpr std::uint64_t block_bytes = 512;

ImageFile open_backing_file(const BackingChoice& choice) {
    ImageFile file{.path = choice.path,
                   .format = choice.format.empty() ? "raw" : choice.format,
                   .file = open_disk_file(choice.path, false),
                   .is_written = false};
    if (choice.format.empty() && looks_like_qcow2(file.file.descriptor)) {
        refuse_disk(choice.path,
                    "it is a qcow2 image, and previrt guesses no format: put ,backing-format=qcow2 "
                    "behind it, or ,backing-format=raw for these bytes as they are");
    }
    return file;
}

json describe_place(const Image& image, std::size_t place, const json& cache,
                    const std::function<std::string(std::size_t place)>& name) {
    const ImageFile& file = image[place];
    const json protocol = {{"driver", file.file.is_device ? "host_device" : "file"},
                           {"node-name", image_node_name(place) + "-file"},
                           {"filename", name(place)},
                           {"locking", "on"},
                           {"discard", "unmap"},
                           {"cache", cache},
                           {"read-only", !file.is_written},
                           {"auto-read-only", false}};
    json node = {{"driver", file.format},  {"node-name", image_node_name(place)},
                 {"file", protocol},       {"discard", "unmap"},
                 {"cache", cache},         {"read-only", !file.is_written},
                 {"auto-read-only", false}};
    if (place + 1 < image.size()) {
        node["backing"] = describe_place(image, place + 1, cache, name);
    } else if (has_backing_files(file.format)) {
        node["backing"] = nullptr; // whatever the image says
    }
    return node;
}

// Empty: there is none.
std::string text_in(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t size_in(const json& about) {
    const auto found = about.find("virtual-size");
    return found != about.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// Of a format's own properties.
json format_properties(const json& about) {
    const json specific = about.value("format-specific", json::object());
    return specific.is_object() ? specific.value("data", json::object()) : json::object();
}

void judge_place(const Image& image, std::size_t place, const json& about) {
    const ImageFile& file = image[place];
    const std::string backing = printable(text_in(about, "backing-filename"));
    const bool has_backing = place + 1 < image.size();
    if (!backing.empty() && !has_backing) {
        refuse_disk(file.path, "it names a backing file, '" + backing +
                                   "', and previrt opens no file that only an image names: with "
                                   ",backing=FILE[,backing-format=FORMAT] you name it");
    }
    if (backing.empty() && has_backing) {
        refuse_disk(file.path, "it names no backing file: leave out ,backing=" + image[place + 1].path);
    }
    const json properties = format_properties(about);
    if (properties.is_object() && properties.contains("data-file")) {
        refuse_disk(file.path, "its data are in a file of their own, '" +
                                   printable(text_in(properties, "data-file")) +
                                   "', and previrt opens no file that only an image names; `qemu-img "
                                   "convert -f " +
                                   file.format + " -O qcow2 " + file.path + " NEW` makes one file of both");
    }
}

} // namespace

std::string printable(std::string text) {
    constexpr std::size_t most = 200;
    if (text.size() > most) {
        text.resize(most);
        text += "...";
    }
    std::ranges::replace_if(text, [](char character) { return character < ' ' || character > '~'; }, '?');
    return text;
}

Image open_image(const DiskChoice& choice) {
    Image image;
    image.push_back({.path = choice.path,
                     .format = choice.format,
                     .file = open_disk_file(choice.path, choice.is_written()),
                     .is_written = choice.is_written()});
    for (const BackingChoice& backing : choice.backing) {
        image.push_back(open_backing_file(backing));
    }
    return image;
}

std::string image_node_name(std::size_t place) {
    return place == 0 ? std::string("disk") : "backing" + std::to_string(place);
}

std::string describe_for_qemu(const Image& image, bool is_unsafe,
                              const std::function<std::string(std::size_t place)>& name) {
    return describe_place(image, 0, {{"no-flush", is_unsafe}}, name).dump();
}

std::uint64_t judge_image(const Image& image, const json& nodes) {
    std::uint64_t bytes = 0;
    std::size_t known = 0;
    for (const json& node : nodes) {
        const std::string name = text_in(node, "node-name");
        for (std::size_t place = 0; place < image.size(); ++place) {
            const json about = node.value("image", json::object());
            if (name == image_node_name(place)) {
                ++known;
                judge_place(image, place, about);
                bytes = place == 0 ? size_in(about) : bytes;
            } else if (name == image_node_name(place) + "-file") {
                ++known;
            }
        }
    }
    const ImageFile& disk = image.front();
    if (known != 2 * image.size() || known != nodes.size()) {
        refuse_disk(disk.path, "it has further files, and previrt opens no file that only an image names");
    }
    if (bytes == 0 || bytes % block_bytes != 0) {
        refuse_disk(disk.path, "its disk has " + std::to_string(bytes) + " bytes, and not a multiple of 512");
    }
    return bytes;
}

} // namespace previrt
