// SPDX-License-Identifier: BSD-2-Clause
#include "oci/seccomp_filter.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <linux/seccomp.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <seccomp.h>
#include <set>
#include <string_view>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace previrt::oci {

namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw InputError("config.json: linux.seccomp: " + what);
}

void require(int result, const std::string& what) {
    if (result != 0) {
        refuse(what + ": " + std::generic_category().message(-result));
    }
}

template <typename Value>
struct Named {
    std::string_view name;
    Value value;
};

template <typename List>
auto value_of(const List& list, const std::string& name, const char* kind) {
    for (const auto& entry : list) {
        if (entry.name == name) {
            return entry.value;
        }
    }
    refuse(std::string(kind) + " '" + name + "' is not supported");
}

constexpr std::array architectures = {Named<std::uint32_t>{"SCMP_ARCH_X86_64", SCMP_ARCH_X86_64},
                                      Named<std::uint32_t>{"SCMP_ARCH_X86", SCMP_ARCH_X86},
                                      Named<std::uint32_t>{"SCMP_ARCH_X32", SCMP_ARCH_X32}};
constexpr std::array operators = {Named<scmp_compare>{"SCMP_CMP_NE", SCMP_CMP_NE},
                                  Named<scmp_compare>{"SCMP_CMP_LT", SCMP_CMP_LT},
                                  Named<scmp_compare>{"SCMP_CMP_LE", SCMP_CMP_LE},
                                  Named<scmp_compare>{"SCMP_CMP_EQ", SCMP_CMP_EQ},
                                  Named<scmp_compare>{"SCMP_CMP_GE", SCMP_CMP_GE},
                                  Named<scmp_compare>{"SCMP_CMP_GT", SCMP_CMP_GT},
                                  Named<scmp_compare>{"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ}};
// TSYNC has no meaning for a process of one thread.
constexpr std::array flags = {
    Named<unsigned long>{"SECCOMP_FILTER_FLAG_TSYNC", 0},
    Named<unsigned long>{"SECCOMP_FILTER_FLAG_LOG", SECCOMP_FILTER_FLAG_LOG},
    Named<unsigned long>{"SECCOMP_FILTER_FLAG_SPEC_ALLOW", SECCOMP_FILTER_FLAG_SPEC_ALLOW}};

std::uint32_t action_of(const std::string& name, std::optional<unsigned> error) {
    const auto number = static_cast<std::uint16_t>(error.value_or(EPERM));
    const std::array actions = {Named<std::uint32_t>{"SCMP_ACT_KILL", SCMP_ACT_KILL},
                                Named<std::uint32_t>{"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
                                Named<std::uint32_t>{"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
                                Named<std::uint32_t>{"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
                                Named<std::uint32_t>{"SCMP_ACT_ERRNO", SCMP_ACT_ERRNO(number)},
                                Named<std::uint32_t>{"SCMP_ACT_TRACE", SCMP_ACT_TRACE(number)},
                                Named<std::uint32_t>{"SCMP_ACT_LOG", SCMP_ACT_LOG},
                                Named<std::uint32_t>{"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW}};
    return value_of(actions, name, "the action");
}

std::optional<unsigned> error_of(const nlohmann::json& part, const char* field) {
    return part.contains(field) ? std::optional(part.at(field).get<unsigned>()) : std::nullopt;
}

class Filter {
public:
    explicit Filter(const nlohmann::json& seccomp)
        : default_(action_of(seccomp.at("defaultAction"), error_of(seccomp, "defaultErrnoRet"))),
          filter_(seccomp_init(default_)) {
        if (!filter_) {
            refuse("libseccomp makes no filter");
        }
        require(seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, default_), "the default action");
        for (const std::string name : seccomp.value("architectures", nlohmann::json::array())) {
            const int result =
                seccomp_arch_add(filter_.get(), value_of(architectures, name, "the architecture"));
            require(result == -EEXIST ? 0 : result, name);
        }
        for (const nlohmann::json& rule : seccomp.value("syscalls", nlohmann::json::array())) {
            add(rule);
        }
    }

    [[nodiscard]] std::string program() const {
        const Descriptor file(memfd_create("filter", MFD_CLOEXEC));
        require(seccomp_export_bpf(filter_.get(), file.number()), "no program of BPF");
        std::string program(static_cast<std::size_t>(lseek(file.number(), 0, SEEK_END)), '\0');
        if (pread(file.number(), program.data(), program.size(), 0) != static_cast<ssize_t>(program.size())) {
            refuse("the filter cannot be read");
        }
        return program;
    }

private:
    // Conditions on one argument are alternatives, as in runc.
    void add(const nlohmann::json& rule) {
        const std::uint32_t action = action_of(rule.at("action"), error_of(rule, "errnoRet"));
        if (action == default_) {
            return; // libseccomp refuses it
        }
        std::vector<scmp_arg_cmp> conditions;
        std::set<unsigned> places;
        for (const nlohmann::json& condition : rule.value("args", nlohmann::json::array())) {
            const unsigned place = condition.at("index");
            conditions.push_back({.arg = place,
                                  .op = value_of(operators, condition.at("op"), "the operator"),
                                  .datum_a = condition.at("value"),
                                  .datum_b = condition.value("valueTwo", std::uint64_t{0})});
            places.insert(place);
        }
        for (const std::string name : rule.at("names")) {
            if (places.size() == conditions.size()) {
                add(name, action, conditions);
                continue;
            }
            for (const scmp_arg_cmp& condition : conditions) {
                add(name, action, {condition});
            }
        }
    }

    void add(const std::string& name, std::uint32_t action, const std::vector<scmp_arg_cmp>& conditions) {
        const int call = seccomp_syscall_resolve_name(name.c_str());
        if (call != __NR_SCMP_ERROR) {
            require(seccomp_rule_add_array(filter_.get(), action, call,
                                           static_cast<unsigned>(conditions.size()), conditions.data()),
                    "the rule for " + name);
        }
    }

    struct Release {
        void operator()(void* filter) const { seccomp_release(filter); }
    };
    std::uint32_t default_;
    std::unique_ptr<void, Release> filter_;
};

} // namespace

SeccompFilter make_seccomp_filter(const nlohmann::json& seccomp) {
    for (const char* const field : {"listenerPath", "listenerMetadata"}) {
        if (!seccomp.value(field, "").empty()) {
            refuse(std::string(field) + ": a program of this machine cannot judge the guest's calls");
        }
    }
    SeccompFilter made{.program = Filter(seccomp).program()};
    for (const std::string name : seccomp.value("flags", nlohmann::json::array())) {
        made.flags |= value_of(flags, name, "the flag");
    }
    return made;
}

} // namespace previrt::oci
