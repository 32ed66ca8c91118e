// SPDX-License-Identifier: BSD-2-Clause
#include "cli/doctor.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "monitor/disk/storage_daemon.hpp"
#include "monitor/folder/folder_server.hpp"
#include "toolchain/linux/compiler.hpp"
#include "toolchain/linux/source.hpp"
#include "toolchain/pack/vmm_image.hpp"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

constexpr int width_of_names = 28;
constexpr int width_of_answers = 4;

const char* yes_or_no(bool works) {
    return works ? "yes" : "no";
}

// `look` returns the finding, or throws InputError.
ToolReport examine(const std::string& command, const std::function<std::string()>& look) {
    try {
        return {.command = command, .works = true, .text = look()};
    } catch (const InputError& error) {
        return {.command = command, .works = false, .text = error.what()};
    }
}

std::vector<ToolReport> examine_tools() {
    return {examine("build-linux --compiler gcc", [] { return find_compiler("gcc").identity; }),
            examine("build-linux --compiler clang", [] { return find_compiler("clang").identity; }),
            examine("build-linux --version",
                    [] {
                        require_source_programs();
                        return "the programs that download and unpack Debian's sources are there";
                    }),
            examine("make-initrd",
                    [] {
                        require_programs({"bash", "busybox", "cpio", "gzip", "ldd"});
                        return "the programs that pack a guest's userland are there";
                    }),
            examine("run --root, --share", probe_folders),
            examine("run --disk F,format=qcow2", probe_images),
            examine("pack --for xen", [] {
                read_vmm_image(Hypervisor::xen);
                return "the in-place VMM for Xen is there";
            })};
}

void print_line(std::ostream& output, const std::string& name, const std::string& answer,
                const std::string& text) {
    output << std::left << std::setw(width_of_names) << name << ' ' << std::setw(width_of_answers) << answer
           << ' ' << text << '\n';
}

} // namespace

bool MachineReport::can_run_guests() const {
    return std::ranges::any_of(places, &PlaceReport::works);
}

MachineReport examine_machine() {
    return {.places = probe_places(), .automatic_place = automatic_place(), .tools = examine_tools()};
}

void print_text(std::ostream& output, const MachineReport& report) {
    for (const PlaceReport& place : report.places) {
        print_line(output, "run --on " + place.name, yes_or_no(place.works),
                   place.works ? place.finding.found + "; " + place.finding.isolation : place.refusal);
    }
    print_line(output, "run --on auto", "", "takes " + report.automatic_place);
    for (const ToolReport& tool : report.tools) {
        print_line(output, tool.command, yes_or_no(tool.works), tool.text);
    }
}

void print_json(std::ostream& output, const MachineReport& report) {
    nlohmann::ordered_json json;
    json["can_run_guests"] = report.can_run_guests();
    json["auto"] = report.automatic_place;
    json["places"] = nlohmann::json::array();
    for (const PlaceReport& place : report.places) {
        nlohmann::ordered_json entry{
            {"name", place.name}, {"description", place.description}, {"works", place.works}};
        if (place.works) {
            entry["found"] = place.finding.found;
            entry["isolation"] = place.finding.isolation;
        } else {
            entry["refusal"] = place.refusal;
        }
        json["places"].push_back(entry);
    }
    json["tools"] = nlohmann::json::array();
    for (const ToolReport& tool : report.tools) {
        json["tools"].push_back({{"command", tool.command}, {"works", tool.works}, {"text", tool.text}});
    }
    output << json.dump(2) << '\n';
}

} // namespace previrt
