// SPDX-License-Identifier: BSD-2-Clause
#include "oci/configuration.hpp"

#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "oci/guest.hpp"
#include "oci/host_configuration.hpp"
#include "oci/mount_options.hpp"
#include "oci/seccomp_filter.hpp"
#include "tests/unit/contains.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sys/mount.h>

namespace previrt::oci {
namespace {

nlohmann::json least_configuration() {
    return {{"ociVersion", "1.0.2"},
            {"process", {{"args", {"true"}}, {"cwd", "/"}}},
            {"root", {{"path", "rootfs"}}},
            {"linux", {{"namespaces", {{{"type", "network"}}}}}}};
}

struct Read {
    nlohmann::json config;
    std::string error;
    std::string warnings;
};

Read read(const nlohmann::json& config) {
    const TemporaryDirectory bundle;
    write_json(bundle.path() + "/config.json", config);
    Read result;
    testing::internal::CaptureStderr();
    try {
        result.config = read_configuration(bundle.path());
    } catch (const InputError& error) {
        result.error = error.what();
    }
    result.warnings = testing::internal::GetCapturedStderr();
    return result;
}

TEST(OciConfiguration, TheLeastOneIsTaken) {
    const Read result = read(least_configuration());
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.warnings, "");
    EXPECT_EQ(make_container_process(result.config).arguments, std::vector<std::string>{"true"});
}

TEST(OciConfiguration, AFieldWithoutEffectIsNamed) {
    nlohmann::json config = least_configuration();
    config["linux"]["future"] = 1;
    config["process"]["apparmorProfile"] = "some";
    const Read result = read(config);
    EXPECT_EQ(result.error, "");
    EXPECT_PRED2(contains, result.warnings, "linux.future: previrt-oci does not know this field");
    EXPECT_PRED2(contains, result.warnings, "process.apparmorProfile: this has no effect");
}

struct BadCase {
    const char* pointer;
    nlohmann::json value;
    const char* message;
};

std::ostream& operator<<(std::ostream& output, const BadCase& bad) {
    return output << bad.pointer;
}

class BadConfiguration : public testing::TestWithParam<BadCase> {};

TEST_P(BadConfiguration, IsRefusedByName) {
    nlohmann::json config = least_configuration();
    config[nlohmann::json::json_pointer(GetParam().pointer)] = GetParam().value;
    EXPECT_PRED2(contains, read(config).error, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Oci, BadConfiguration,
    testing::Values(BadCase{"/process", 3, "process: this must be an object"},
                    BadCase{"/process/args", nlohmann::json::array(), "process.args"},
                    BadCase{"/process/args", "text", "process.args: this must be an array"},
                    BadCase{"/process/cwd", "here", "process.cwd: 'here' does not begin with /"},
                    BadCase{"/process/terminal", "yes", "process.terminal: this must be true or false"},
                    BadCase{"/root/path", nullptr, "root.path: this is missing"},
                    BadCase{"/vm", {{"kernel", {}}}, "vm: this is not supported"},
                    BadCase{"/linux/personality", {{"domain", "LINUX32"}}, "linux.personality"},
                    BadCase{"/linux/namespaces/0/type", "user", "a user namespace is not supported"},
                    BadCase{"/mounts", {{{"source", "x"}}}, "mounts.destination: this is missing"}));

TEST(OciConfiguration, TheHostsProcessHasNothingOfTheGuests) {
    nlohmann::json config = least_configuration();
    config["process"]["noNewPrivileges"] = true;
    config["process"]["rlimits"] = {{{"type", "RLIMIT_NOFILE"}, {"soft", 1}, {"hard", 1}}};
    config["linux"]["seccomp"] = {{"defaultAction", "SCMP_ACT_KILL"}};
    config["linux"]["sysctl"] = {{"kernel.panic", "1"}};
    const nlohmann::json made = make_host_configuration(config, "/bundle", {"program"});
    EXPECT_EQ(made["process"]["args"], nlohmann::json::array({"program"}));
    EXPECT_FALSE(made["process"].contains("rlimits"));
    EXPECT_FALSE(made["process"].contains("noNewPrivileges"));
    EXPECT_FALSE(made["linux"].contains("seccomp"));
    EXPECT_FALSE(made["linux"].contains("sysctl"));
    EXPECT_EQ(made["root"]["path"], "/bundle/rootfs");
    EXPECT_TRUE(std::ranges::any_of(made["linux"]["namespaces"],
                                    [](const nlohmann::json& entry) { return entry["type"] == "pid"; }));
}

TEST(OciMountOptions, FlagsAndData) {
    const MountOptions options = parse_mount_options(
        {{"destination", "/t"}, {"options", {"nosuid", "ro", "rw", "mode=755", "rprivate", "size=1k"}}});
    EXPECT_EQ(options.flags, static_cast<unsigned long>(MS_NOSUID));
    EXPECT_EQ(options.data, "mode=755,size=1k");
    EXPECT_FALSE(options.is_bind);
    EXPECT_THROW(parse_mount_options({{"destination", "/t"}, {"options", {"idmap"}}}), InputError);
}

TEST(OciSeccomp, BecomesAProgram) {
    const SeccompFilter filter =
        make_seccomp_filter({{"defaultAction", "SCMP_ACT_ERRNO"},
                             {"defaultErrnoRet", 38},
                             {"architectures", {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86"}},
                             {"syscalls",
                              {{{"names", {"read", "no_such_call"}}, {"action", "SCMP_ACT_ALLOW"}},
                               {{"names", {"personality"}},
                                {"action", "SCMP_ACT_ALLOW"},
                                {"args", {{{"index", 0}, {"value", 8}, {"op", "SCMP_CMP_EQ"}}}}}}}});
    EXPECT_GT(filter.program.size(), sizeof(sock_filter));
    EXPECT_EQ(filter.program.size() % sizeof(sock_filter), 0U);
}

TEST(OciSeccomp, WhatIsNotSupportedIsRefused) {
    EXPECT_THROW(make_seccomp_filter({{"defaultAction", "SCMP_ACT_NOTIFY"}}), InputError);
    EXPECT_THROW(make_seccomp_filter({{"defaultAction", "SCMP_ACT_ALLOW"}, {"listenerPath", "/s"}}),
                 InputError);
    EXPECT_THROW(
        make_seccomp_filter({{"defaultAction", "SCMP_ACT_ALLOW"}, {"architectures", {"SCMP_ARCH_ARM"}}}),
        InputError);
}

} // namespace
} // namespace previrt::oci
