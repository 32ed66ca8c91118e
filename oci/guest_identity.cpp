// SPDX-License-Identifier: BSD-2-Clause
#include "oci/guest_identity.hpp"

#include "host/input_error.hpp"
#include "oci/capabilities.hpp"
#include "oci/seccomp_filter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <vector>

namespace previrt::oci {

namespace {

template <typename Content>
std::string_view bytes_of(const Content& content) {
    return {reinterpret_cast<const char*>(&content), sizeof content};
}

struct Limit {
    std::string_view name;
    int number;
};
constexpr std::array limits = {
    Limit{"RLIMIT_CPU", RLIMIT_CPU},           Limit{"RLIMIT_FSIZE", RLIMIT_FSIZE},
    Limit{"RLIMIT_DATA", RLIMIT_DATA},         Limit{"RLIMIT_STACK", RLIMIT_STACK},
    Limit{"RLIMIT_CORE", RLIMIT_CORE},         Limit{"RLIMIT_RSS", RLIMIT_RSS},
    Limit{"RLIMIT_NPROC", RLIMIT_NPROC},       Limit{"RLIMIT_NOFILE", RLIMIT_NOFILE},
    Limit{"RLIMIT_MEMLOCK", RLIMIT_MEMLOCK},   Limit{"RLIMIT_AS", RLIMIT_AS},
    Limit{"RLIMIT_LOCKS", RLIMIT_LOCKS},       Limit{"RLIMIT_SIGPENDING", RLIMIT_SIGPENDING},
    Limit{"RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE}, Limit{"RLIMIT_NICE", RLIMIT_NICE},
    Limit{"RLIMIT_RTPRIO", RLIMIT_RTPRIO},     Limit{"RLIMIT_RTTIME", RLIMIT_RTTIME}};

void set_limits(CallProgram& program, const nlohmann::json& process) {
    for (const nlohmann::json& limit : process.value("rlimits", nlohmann::json::array())) {
        const std::string name = limit.at("type");
        const auto* const found = std::ranges::find(limits, name, &Limit::name);
        if (found == limits.end()) {
            throw InputError("config.json: process.rlimits: there is no limit '" + name + "'");
        }
        const std::array<std::uint64_t, 2> values = {limit.at("soft"), limit.at("hard")};
        program.call("process.rlimits: " + name, SYS_prlimit64,
                     {number(0), number(static_cast<std::uint64_t>(found->number)),
                      program.data(bytes_of(values)), number(0)});
    }
}

struct ProcessCapabilities {
    Capabilities bounding = 0;
    Capabilities effective = 0;
    Capabilities permitted = 0;
    Capabilities inheritable = 0;
    Capabilities ambient = 0;
};

ProcessCapabilities read_capabilities(const nlohmann::json& process) {
    const nlohmann::json given = process.value("capabilities", nlohmann::json::object());
    const auto set = [&](const char* name) {
        return parse_capabilities(given.value(name, std::vector<std::string>()));
    };
    return {.bounding = set("bounding"),
            .effective = set("effective"),
            .permitted = set("permitted"),
            .inheritable = set("inheritable"),
            .ambient = set("ambient")};
}

void drop_bounding_set(CallProgram& program, Capabilities kept) {
    for (unsigned capability = 0; capability <= last_capability; ++capability) {
        if ((kept >> capability & 1U) == 0) {
            program.call("process.capabilities.bounding", SYS_prctl,
                         {number(PR_CAPBSET_DROP), number(capability)}, {EINVAL});
        }
    }
}

void become_user(CallProgram& program, const nlohmann::json& process) {
    const nlohmann::json user = process.value("user", nlohmann::json::object());
    const auto groups = user.value("additionalGids", std::vector<std::uint32_t>());
    const std::uint32_t group = user.value("gid", 0U);
    const std::uint32_t number_of_user = user.value("uid", 0U);
    program.call("process.user.additionalGids", SYS_setgroups,
                 {number(groups.size()), program.data({reinterpret_cast<const char*>(groups.data()),
                                                       groups.size() * sizeof groups[0]})});
    program.call("process.user.gid", SYS_setresgid, {number(group), number(group), number(group)});
    program.call("process.user.uid", SYS_setresuid,
                 {number(number_of_user), number(number_of_user), number(number_of_user)});
}

void take_capabilities(CallProgram& program, const ProcessCapabilities& wanted) {
    constexpr unsigned word = 32;
    const __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const auto low = [](Capabilities set) { return static_cast<std::uint32_t>(set); };
    const auto high = [](Capabilities set) { return static_cast<std::uint32_t>(set >> word); };
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets = {
        {{.effective = low(wanted.effective),
          .permitted = low(wanted.permitted),
          .inheritable = low(wanted.inheritable)},
         {.effective = high(wanted.effective),
          .permitted = high(wanted.permitted),
          .inheritable = high(wanted.inheritable)}}};
    program.call("process.capabilities", SYS_capset,
                 {program.data(bytes_of(header)), program.data(bytes_of(sets))});
    for (unsigned capability = 0; capability <= last_capability; ++capability) {
        if ((wanted.ambient >> capability & 1U) != 0) {
            program.call("process.capabilities.ambient", SYS_prctl,
                         {number(PR_CAP_AMBIENT), number(PR_CAP_AMBIENT_RAISE), number(capability)},
                         {EPERM}); // it is not inheritable; runc says nothing either
        }
    }
}

void load_filter(CallProgram& program, const nlohmann::json& config) {
    const nlohmann::json linux_part = config.value("linux", nlohmann::json::object());
    if (!linux_part.contains("seccomp")) {
        return;
    }
    const SeccompFilter filter = make_seccomp_filter(linux_part["seccomp"]);
    sock_fprog header{};
    header.len = static_cast<unsigned short>(filter.program.size() / sizeof(sock_filter));
    const CallArgument instructions = program.data(filter.program);
    const CallArgument place = program.data(bytes_of(header));
    CallArgument pointer = place;
    pointer.value += offsetof(sock_fprog, filter);
    program.call("linux.seccomp", agent::store_call, {pointer, instructions, number(sizeof(void*))});
    program.call("linux.seccomp", SYS_seccomp,
                 {number(SECCOMP_SET_MODE_FILTER), number(filter.flags), place});
}

} // namespace

void take_identity(CallProgram& program, const nlohmann::json& process, const nlohmann::json& config) {
    constexpr unsigned usual_mask = 022;
    const bool has_no_new_rights = process.value("noNewPrivileges", false);
    const ProcessCapabilities capabilities = read_capabilities(process);
    const std::string directory = process.at("cwd");
    set_limits(program, process);
    if (process.contains("oomScoreAdj")) {
        program.write_file("process.oomScoreAdj", "/proc/self/oom_score_adj",
                           std::to_string(process["oomScoreAdj"].get<int>()), {ENOENT});
    }
    program.make_directories(directory);
    program.call("process.cwd: " + directory, SYS_chdir, {program.text(directory)});
    program.call("process.user.umask", SYS_umask,
                 {number(process.value("user", nlohmann::json::object()).value("umask", usual_mask))});
    if (has_no_new_rights) {
        program.call("process.noNewPrivileges", SYS_prctl,
                     {number(PR_SET_NO_NEW_PRIVS), number(1), number(0), number(0), number(0)});
    } else {
        load_filter(program, config); // which takes a capability
    }
    drop_bounding_set(program, capabilities.bounding);
    program.call("process.user", SYS_prctl, {number(PR_SET_KEEPCAPS), number(1)});
    become_user(program, process);
    program.call("process.user", SYS_prctl, {number(PR_SET_KEEPCAPS), number(0)});
    take_capabilities(program, capabilities);
    if (has_no_new_rights) {
        load_filter(program, config);
    }
}

} // namespace previrt::oci
