// SPDX-License-Identifier: BSD-2-Clause
#include "oci/configuration.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "oci/log.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace previrt::oci {

namespace {

enum class Support : std::uint8_t {
    yes,
    no_effect, // a warning names it
    none,      // it is refused
};

enum class Kind : std::uint8_t { object, array, text, number, boolean };

struct Field {
    std::string_view name;
    Kind kind;
    Support support = Support::yes;
    const char* reason = "";
};

constexpr Field root_fields[] = {{"path", Kind::text}, {"readonly", Kind::boolean}};
constexpr Field top_fields[] = {
    {"ociVersion", Kind::text},
    {"process", Kind::object},
    {"root", Kind::object},
    {"hostname", Kind::text},
    {"domainname", Kind::text},
    {"mounts", Kind::array},
    {"hooks", Kind::object},
    {"annotations", Kind::object},
    {"linux", Kind::object},
    {"windows", Kind::object, Support::none, "this is Linux"},
    {"solaris", Kind::object, Support::none, "this is Linux"},
    {"zos", Kind::object, Support::none, "this is Linux"},
    {"vm", Kind::object, Support::none,
     "the guest's kernel and memory are chosen by the options of previrt-oci"},
};
constexpr Field mount_fields[] = {
    {"destination", Kind::text},
    {"type", Kind::text},
    {"source", Kind::text},
    {"options", Kind::array},
    {"uidMappings", Kind::array, Support::none, "files keep their owners in the guest"},
    {"gidMappings", Kind::array, Support::none, "files keep their owners in the guest"},
};
constexpr Field process_fields[] = {
    {"terminal", Kind::boolean},
    {"consoleSize", Kind::object},
    {"user", Kind::object},
    {"args", Kind::array},
    {"commandLine", Kind::text, Support::no_effect, "it is for Windows"},
    {"env", Kind::array},
    {"cwd", Kind::text},
    {"capabilities", Kind::object},
    {"rlimits", Kind::array},
    {"noNewPrivileges", Kind::boolean},
    {"apparmorProfile", Kind::text, Support::no_effect, "the guest's kernel has no AppArmor"},
    {"selinuxLabel", Kind::text, Support::no_effect, "the guest's kernel has no SELinux"},
    {"oomScoreAdj", Kind::number},
    {"scheduler", Kind::object, Support::no_effect, "the process has the usual one"},
    {"ioPriority", Kind::object, Support::no_effect, "the process has the usual one"},
    {"execCPUAffinity", Kind::object, Support::no_effect, "the process runs on all of the guest's"},
};
constexpr Field user_fields[] = {{"uid", Kind::number},
                                 {"gid", Kind::number},
                                 {"umask", Kind::number},
                                 {"additionalGids", Kind::array},
                                 {"username", Kind::text, Support::no_effect, "it is for Windows"}};
constexpr Field linux_fields[] = {
    {"uidMappings", Kind::array},
    {"gidMappings", Kind::array},
    {"sysctl", Kind::object},
    {"resources", Kind::object},
    {"cgroupsPath", Kind::text},
    {"namespaces", Kind::array},
    {"devices", Kind::array},
    {"seccomp", Kind::object},
    {"rootfsPropagation", Kind::text},
    {"maskedPaths", Kind::array},
    {"readonlyPaths", Kind::array},
    {"mountLabel", Kind::text, Support::no_effect, "the guest's kernel has no SELinux"},
    {"intelRdt", Kind::object},
    {"personality", Kind::object, Support::none,
     "the guest's programs are 64-bit ones with a usual personality"},
    {"timeOffsets", Kind::object, Support::none, "the guest's clocks are this machine's"},
    {"netDevices", Kind::object, Support::none, "interfaces are those of the network namespace"},
};

bool is_of(const nlohmann::json& value, Kind kind) {
    switch (kind) {
    case Kind::object:
        return value.is_object();
    case Kind::array:
        return value.is_array();
    case Kind::text:
        return value.is_string();
    case Kind::number:
        return value.is_number_integer();
    case Kind::boolean:
        break;
    }
    return value.is_boolean();
}

bool is_empty(const nlohmann::json& value) {
    return value.empty() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

const char* name_of(Kind kind) {
    switch (kind) {
    case Kind::object:
        return "an object";
    case Kind::array:
        return "an array";
    case Kind::text:
        return "a string";
    case Kind::number:
        return "an integer";
    case Kind::boolean:
        break;
    }
    return "true or false";
}

// A null counts as none.
void check(const nlohmann::json& part, const std::string& place, std::span<const Field> fields) {
    if (!part.is_object()) {
        throw InputError("config.json: " + place + ": this must be an object");
    }
    for (const auto& [name, value] : part.items()) {
        const std::string path = (place.empty() ? "" : place + ".") + name;
        const auto field = std::ranges::find(fields, name, &Field::name);
        if (value.is_null()) {
            continue;
        }
        if (field == fields.end()) {
            log_warning("config.json: " + path + ": previrt-oci does not know this field; it has no effect");
        } else if (!is_of(value, field->kind)) {
            throw InputError("config.json: " + path + ": this must be " + name_of(field->kind));
        } else if (field->support != Support::yes && !is_empty(value)) {
            const std::string message = "config.json: " + path + ": ";
            if (field->support == Support::none) {
                throw InputError(message + "this is not supported: " + field->reason);
            }
            log_warning(message + "this has no effect: " + field->reason);
        }
    }
}

const nlohmann::json& require_field(const nlohmann::json& part, const std::string& place, const char* name) {
    const auto found = part.find(name);
    if (found == part.end() || found->is_null()) {
        throw InputError("config.json: " + (place.empty() ? "" : place + ".") + name + ": this is missing");
    }
    return *found;
}

void remove_nulls(nlohmann::json& json) {
    if (json.is_object()) {
        for (auto entry = json.begin(); entry != json.end();) {
            if (entry->is_null()) {
                entry = json.erase(entry);
            } else {
                remove_nulls(*entry);
                ++entry;
            }
        }
    } else if (json.is_array()) {
        for (nlohmann::json& entry : json) {
            remove_nulls(entry);
        }
    }
}

void check_namespace(const nlohmann::json& entry) {
    const std::string type = entry.at("type");
    const bool is_shared = !entry.value("path", "").empty();
    const std::string place = "config.json: linux.namespaces: " + type + ": ";
    if (type == "user") {
        throw InputError(place + "a user namespace is not supported: the users of the container are those of "
                                 "its guest; leave it out (podman: --userns=host)");
    }
    if (type == "mount" && is_shared) {
        throw InputError(place + "another container's is not supported");
    }
    if (is_shared && type != "network") {
        log_warning(place + "the guest has its own: nothing of " + entry["path"].get<std::string>() +
                    " is visible in it");
    }
}

void check_network(const nlohmann::json& config) {
    if (!has_namespace(config, "network")) {
        log_warning(
            "config.json: linux.namespaces: without a network namespace, the guest has a network of its "
            "own, through which it reaches this machine's network; this machine's interfaces and "
            "ports are none of the guest's");
    }
}

void check_hooks(const nlohmann::json& config) {
    const nlohmann::json hooks = config.value("hooks", nlohmann::json::object());
    if (!is_empty(hooks.value("startContainer", nlohmann::json::array()))) {
        log_warning("config.json: hooks.startContainer: these run on this machine, not in the guest");
    }
}

void check_pod(const nlohmann::json& config) {
    const nlohmann::json annotations = config.value("annotations", nlohmann::json::object());
    for (const char* const name : {"io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType"}) {
        if (annotations.value(name, "") == "container") {
            throw InputError("config.json: annotations: a container that joins the guest of a pod is not "
                             "supported so far");
        }
    }
}

} // namespace

nlohmann::json read_json(const std::string& path) {
    nlohmann::json json = nlohmann::json::parse(read_text(path), nullptr, false);
    if (json.is_discarded()) {
        throw InputError(path + ": this is no JSON");
    }
    return json;
}

bool has_namespace(const nlohmann::json& config, const std::string& type) {
    const nlohmann::json linux_part = config.value("linux", nlohmann::json::object());
    return std::ranges::any_of(linux_part.value("namespaces", nlohmann::json::array()),
                               [&](const nlohmann::json& entry) { return entry.at("type") == type; });
}

void write_json(const std::string& path, const nlohmann::json& json) {
    write_text(path, json.dump());
}

void check_process(const nlohmann::json& process) {
    check(process, "process", process_fields);
    const nlohmann::json& arguments = require_field(process, "process", "args");
    if (arguments.empty() || !std::ranges::all_of(arguments, &nlohmann::json::is_string)) {
        throw InputError("config.json: process.args: this must be strings, at least one");
    }
    const std::string directory = require_field(process, "process", "cwd");
    if (!directory.starts_with('/')) {
        throw InputError("config.json: process.cwd: '" + directory + "' does not begin with /");
    }
    if (process.contains("user")) {
        check(process["user"], "process.user", user_fields);
    }
}

nlohmann::json read_configuration(const std::string& bundle) {
    nlohmann::json config = read_json((std::filesystem::path(bundle) / "config.json").string());
    check(config, "", top_fields);
    remove_nulls(config);
    check(require_field(config, "", "root"), "root", root_fields);
    require_field(config["root"], "root", "path");
    check_process(require_field(config, "", "process"));
    for (const nlohmann::json& mount : config.value("mounts", nlohmann::json::array())) {
        check(mount, "mounts", mount_fields);
        require_field(mount, "mounts", "destination");
    }
    if (config.contains("linux")) {
        check(config["linux"], "linux", linux_fields);
        for (const nlohmann::json& entry : config["linux"].value("namespaces", nlohmann::json::array())) {
            check_namespace(entry);
        }
    }
    check_network(config);
    check_hooks(config);
    check_pod(config);
    return config;
}

} // namespace previrt::oci
