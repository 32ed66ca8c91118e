// SPDX-License-Identifier: BSD-2-Clause
#include "oci/host_configuration.hpp"

#include "oci/capabilities.hpp"
#include "oci/configuration.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace previrt::oci {

namespace {

// With its first process, all others of a namespace of processes end. Another container's would let its
// processes see the guest's on this machine.
nlohmann::json make_namespaces(const nlohmann::json& config) {
    nlohmann::json namespaces = nlohmann::json::array();
    for (const nlohmann::json& entry : config["linux"].value("namespaces", nlohmann::json::array())) {
        const std::string type = entry.at("type");
        if (type != "pid" && type != "ipc" && type != "uts" && type != "time") {
            namespaces.push_back(entry);
        }
    }
    for (const char* const type : {"pid", "ipc", "uts"}) {
        namespaces.push_back({{"type", type}});
    }
    if (!has_namespace(config, "mount")) {
        namespaces.push_back({{"type", "mount"}});
    }
    return namespaces;
}

} // namespace

nlohmann::json make_host_process(bool has_terminal, const nlohmann::json& process,
                                 const std::vector<std::string>& arguments) {
    const std::vector<std::string> all = names_of(own_capabilities());
    nlohmann::json made = {
        {"terminal", has_terminal},
        {"user", {{"uid", 0}, {"gid", 0}}},
        {"args", arguments},
        {"env", {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
        {"cwd", "/"},
        {"capabilities", {{"bounding", all}, {"effective", all}, {"permitted", all}}},
    };
    for (const char* const kept : {"consoleSize", "oomScoreAdj"}) {
        if (process.contains(kept)) {
            made[kept] = process[kept];
        }
    }
    return made;
}

nlohmann::json make_host_configuration(const nlohmann::json& config, const std::string& bundle,
                                       const std::vector<std::string>& arguments) {
    nlohmann::json made = config;
    made["process"] =
        make_host_process(config["process"].value("terminal", false), config["process"], arguments);
    const std::filesystem::path root = config["root"]["path"].get<std::string>();
    made["root"]["path"] = (root.is_absolute() ? root : std::filesystem::path(bundle) / root).string();
    nlohmann::json& linux_part = made["linux"];
    for (const char* const of_guest : {"seccomp", "sysctl", "mountLabel"}) {
        linux_part.erase(of_guest);
    }
    linux_part["namespaces"] = make_namespaces(made);
    return made;
}

} // namespace previrt::oci
