// SPDX-License-Identifier: BSD-2-Clause
// What `previrt doctor` says of a machine, and that `previrt run` says the same.
#include "cli/doctor.hpp"
#include "host/cached_directory.hpp"
#include "host/file.hpp"
#include "host/program.hpp"
#include "tests/machine/machine.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/make_elf.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace previrt {

namespace {

MachineReport machine(bool kvm_works) {
    PlaceReport kvm{.name = "kvm", .description = "KVM", .works = kvm_works, .finding = {}, .refusal = {}};
    if (kvm_works) {
        kvm.finding = {.found = "it is there", .isolation = "all from all"};
    } else {
        kvm.refusal = "/dev/kvm: gone";
    }
    return {
        .places =
            {kvm, {.name = "xen", .description = "Xen", .works = false, .finding = {}, .refusal = "no QEMU"}},
        .automatic_place = "xen",
        .tools = {{.command = "pack", .works = true, .text = "ready"},
                  {.command = "build-linux", .works = false, .text = "no bison (apt-get install bison)"}}};
}

TEST(Doctor, ALineForEach) {
    std::ostringstream text;
    print_text(text, machine(true));
    EXPECT_EQ(text.str(), "run --on kvm                 yes  it is there; all from all\n"
                          "run --on xen                 no   no QEMU\n"
                          "run --on auto                     takes xen\n"
                          "pack                         yes  ready\n"
                          "build-linux                  no   no bison (apt-get install bison)\n");
}

TEST(Doctor, JsonSaysTheSame) {
    std::ostringstream text;
    print_json(text, machine(false));
    const auto json = nlohmann::json::parse(text.str());
    EXPECT_EQ(json["can_run_guests"], false);
    EXPECT_EQ(json["auto"], "xen");
    EXPECT_EQ(json["places"][0],
              (nlohmann::json{
                  {"name", "kvm"}, {"description", "KVM"}, {"works", false}, {"refusal", "/dev/kvm: gone"}}));
    EXPECT_EQ(json["tools"][0], (nlohmann::json{{"command", "pack"}, {"works", true}, {"text", "ready"}}));
    std::ostringstream other;
    print_json(other, machine(true));
    EXPECT_EQ(nlohmann::json::parse(other.str())["places"][0]["isolation"], "all from all");
}

TEST(Doctor, OnePlaceIsEnough) {
    EXPECT_TRUE(machine(true).can_run_guests());
    EXPECT_FALSE(machine(false).can_run_guests());
}

// Where there are no programs.
TEST(Doctor, SaysWhatRunSays) {
    const ScratchDirectory directory;
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", ElfBuilder::text_address, {0x90});
    constexpr std::uint32_t pvh_entry = 18;
    std::vector<std::uint8_t> note = ElfBuilder::note("Xen", std::to_array<std::uint32_t>({0x1000000}));
    note[8] = pvh_entry;
    builder.add(ElfSection{.name = ".notes", .type = SHT_NOTE, .flags = SHF_ALLOC, .bytes = note});
    const std::vector<std::uint8_t> elf = builder.build().bytes;
    const std::string kernel = directory.write("kernel", std::string(elf.begin(), elf.end()));
    const std::string before =
        "PREVIRT_CACHE=" + directory.path("cache") + " PATH=" + directory.path("nothing") + " " PREVIRT;
    const std::string file = directory.path("doctor.json");
    const int status = run_command(before + " doctor --json >" + file).status;
    const auto json = nlohmann::json::parse(read_text(file));
    EXPECT_EQ(status, json["can_run_guests"].get<bool>() ? 0 : 1);
    std::string refused;
    for (const auto& place : json["places"]) {
        const std::string name = place["name"];
        if (place["works"].get<bool>() ||
            name.starts_with("xen")) { // which wants a kernel that can be packed
            continue;
        }
        const CommandResult run = run_command(before + " run --on " + name + " " + kernel);
        EXPECT_EQ(run.status, 2) << run.output;
        EXPECT_TRUE(run.output.ends_with("previrt: " + place["refusal"].get<std::string>() + "\n"))
            << name << ": " << run.output;
        refused += name + " ";
    }
    EXPECT_NE(refused.find("bare"), std::string::npos) << refused;
}

// Of each place, what the tests' own look at this machine says; or a fault that keeps previrt from one would
// skip the tests that should find it.
TEST(Doctor, SaysOfEachPlaceWhatTheMachineSays) {
    const ScratchDirectory directory;
    const std::string file = directory.path("doctor.json");
    run_command(PREVIRT " doctor --json >" + file);
    const auto json = nlohmann::json::parse(read_text(file));
    std::set<std::string> places;
    for (const auto& place : json["places"]) {
        const std::string lacks = machine::what_lacks(place["name"]);
        EXPECT_EQ(place["works"].get<bool>(), lacks.empty())
            << place["name"] << ": doctor: " << place.value("refusal", "it works")
            << "; the machine: " << lacks;
        places.insert(place["name"]);
        if (place["name"] == "kvm" && place["works"].get<bool>()) {
            const bool interpreted = place["found"].get<std::string>().starts_with("level 0 is interpreted");
            EXPECT_EQ(interpreted, machine::kind_of_kvm() == machine::KvmKind::interpreted) << place["found"];
        }
    }
    EXPECT_EQ(places, (std::set<std::string>{"process", "kvm", "kvm-nested", "xen", "xen-domu", "bare"}));
}

TEST(Doctor, KnowsWhatIsInTheCache) {
    const ScratchDirectory directory;
    setenv("PREVIRT_CACHE", directory.path("cache").c_str(), 1);
    EXPECT_EQ(find_cached_directory("thing", "key"), "");
    cached_directory("thing", "key", [](const std::string& /*directory*/) {});
    EXPECT_EQ(find_cached_directory("thing", "key"), directory.path("cache/thing"));
    EXPECT_EQ(find_cached_directory("thing", "another key"), "");
    unsetenv("PREVIRT_CACHE");
}

} // namespace

} // namespace previrt
