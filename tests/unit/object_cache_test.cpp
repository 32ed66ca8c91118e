// SPDX-License-Identifier: BSD-2-Clause
// An object of an earlier build is used only if this build would make the same one.
#include "host/file.hpp"
#include "host/program.hpp"
#include "tests/unit/command.hpp"
#include "toolchain/linux/compiler.hpp"
#include "toolchain/linux/object_cache.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>

namespace previrt {

namespace {

namespace fs = std::filesystem;

// An environment variable's value during a test.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* const before = std::getenv(name); before != nullptr) {
            before_ = before;
        }
        setenv(name, value.c_str(), 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() {
        if (before_.empty()) {
            unsetenv(name_);
        } else {
            setenv(name_, before_.c_str(), 1);
        }
    }

private:
    const char* name_;
    std::string before_;
};

// The programs that a compiler starts for one object.
std::set<std::string> programs_for_an_object(const std::string& compiler) {
    const std::string said = run_command(compiler + " '-###' -c -x c /dev/null -o /dev/null").output;
    std::set<std::string> programs;
    static const std::regex first_word("\n \"?([^ \"]+)\"? \"?-");
    for (std::sregex_iterator match(said.begin(), said.end(), first_word), end; match != end; ++match) {
        programs.insert(fs::canonical(path_of_program((*match)[1])).string());
    }
    return programs;
}

class KernelCompiler : public testing::TestWithParam<const char*> {};

TEST_P(KernelCompiler, EachOfItsProgramsIsLookedAt) {
    const Compiler compiler = find_compiler(GetParam());
    std::set<std::string> looked_at;
    for (const std::string& file : files_of(compiler)) {
        looked_at.insert(fs::canonical(file).string());
    }
    const std::set<std::string> started = programs_for_an_object(compiler.program);
    EXPECT_EQ(started.size(), GetParam() == std::string("gcc") ? 2U : 1U);
    EXPECT_TRUE(std::ranges::includes(looked_at, started));
    EXPECT_TRUE(std::ranges::any_of(
        looked_at, [](const std::string& file) { return file.find(".so.") != std::string::npos; }));
}

INSTANTIATE_TEST_SUITE_P(Compilers, KernelCompiler, testing::Values("gcc", "clang"),
                         [](const auto& compiler) { return std::string(compiler.param); });

TEST(KernelObjects, AnotherAssemblerMakesOtherObjects) {
    ASSERT_FALSE(path_of_program("ccache").empty());
    const Compiler compiler = find_compiler("gcc");
    const auto before = find_object_cache(compiler, "/kernel").environment;
    ASSERT_EQ(before.size(), 2U);
    EXPECT_EQ(find_object_cache(compiler, "/kernel").environment, before);
    const ScratchDirectory directory;
    fs::copy_file(path_of_program("as"), directory.path("as"));
    const Variable path("PATH", directory.path("") + ":" + std::getenv("PATH"));
    const auto copied = find_object_cache(compiler, "/kernel").environment;
    EXPECT_EQ(run_command("printf x >>" + directory.path("as")).status, 0);
    EXPECT_NE(find_object_cache(compiler, "/kernel").environment, copied);
}

// The object holds the name of its source file, as each warning of the kernel does.
TEST(KernelObjects, AnotherDirectoryFindsTheObject) {
    const ScratchDirectory directory;
    const Compiler compiler = find_compiler("gcc");
    std::set<std::string> objects;
    for (const char* const name : {"first", "second"}) {
        const std::string kernel = directory.path(name);
        fs::create_directories(kernel + "/source/include");
        fs::create_directories(kernel + "/build");
        write_text(kernel + "/source/include/name.h", "static const char header[] = __FILE__;\n");
        write_text(kernel + "/source/name.c", "#include <name.h>\nconst char *name(int i)\n"
                                              "{ return i ? header : __FILE__; }\n");
        const ObjectCache cache = find_object_cache(compiler, kernel);
        std::string command = "cd '" + kernel + "/build' && CCACHE_DIR='" + directory.path("cache") + "'";
        for (const auto& [variable, value] : cache.environment) {
            command += " " + variable + "='" + value + "'";
        }
        command += " " + cache.launcher + compiler.program + " -O2 -I'" + kernel +
                   "/source/include' -fmacro-prefix-map='" + kernel +
                   "/source/=' -fmacro-prefix-map=../source/= -c -o name.o '" + kernel + "/source/name.c'";
        EXPECT_EQ(run_command(command).status, 0);
        objects.insert(read_text(kernel + "/build/name.o"));
    }
    ASSERT_EQ(objects.size(), 1U);
    EXPECT_EQ(objects.begin()->find("source"), std::string::npos);
    EXPECT_NE(run_command("CCACHE_DIR='" + directory.path("cache") + "' ccache --print-stats")
                  .output.find("\ndirect_cache_hit\t1\n"),
              std::string::npos);
}

TEST(KernelObjects, OtherDefinitionsHaveAnotherPath) {
    constexpr std::array files = {"sites-gas.s", "sites-clang.s", "sites-clang.h"};
    const ScratchDirectory directory;
    const Variable cache("PREVIRT_CACHE", directory.path("cache"));
    fs::create_directories(directory.path("own/previrt"));
    const auto own = [&](const std::string& file) { return directory.path("own/previrt/" + file); };
    std::set<std::string> paths;
    for (const std::string changed : {"none", files[0], files[1], files[2]}) {
        for (const char* const file : files) {
            const std::string text = read_text(std::string(PREVIRT_DEFINITIONS "/previrt/") + file);
            write_text(own(file), file == changed ? text + "\n" : text);
        }
        const std::string shared = shared_definitions(directory.path("own"));
        EXPECT_EQ(shared_definitions(directory.path("own")), shared);
        EXPECT_TRUE(paths.insert(shared).second) << changed;
        for (const char* const file : files) {
            EXPECT_EQ(read_text(shared + "/previrt/" + file), read_text(own(file)));
        }
    }
}

} // namespace

} // namespace previrt
