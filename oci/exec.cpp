// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "oci/commands.hpp"
#include "oci/configuration.hpp"
#include "oci/guest.hpp"
#include "oci/host_configuration.hpp"
#include "oci/log.hpp"
#include "oci/store.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>

namespace previrt::oci {

namespace {

unsigned parse_number(std::string_view text, const std::string& option) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw InputError("--user " + option + ": it is UID[:GID], two numbers");
    }
    return value;
}

void choose_user(nlohmann::json& process, const std::string& option) {
    const std::size_t colon = option.find(':');
    process["user"]["uid"] = parse_number(std::string_view(option).substr(0, colon), option);
    if (colon != std::string::npos) {
        process["user"]["gid"] = parse_number(std::string_view(option).substr(colon + 1), option);
    }
}

// Without --process, it is the container's own but for what the options say.
nlohmann::json process_of_options(const ExecOptions& exec, const nlohmann::json& config) {
    nlohmann::json process = config.at("process");
    process["args"] = exec.command;
    process["terminal"] = exec.has_terminal;
    process.erase("consoleSize");
    if (!exec.directory.empty()) {
        process["cwd"] = exec.directory;
    }
    for (const std::string& variable : exec.environment) {
        process["env"].push_back(variable);
    }
    if (!exec.user.empty()) {
        choose_user(process, exec.user);
    }
    for (const unsigned group : exec.groups) {
        process["user"]["additionalGids"].push_back(group);
    }
    for (const char* const set : {"bounding", "effective", "permitted", "inheritable", "ambient"}) {
        for (const std::string& capability : exec.capabilities) {
            process["capabilities"][set].push_back(capability);
        }
    }
    if (exec.no_new_privileges) {
        process["noNewPrivileges"] = true;
    }
    return process;
}

std::vector<std::string> host_options(const ExecOptions& exec, const std::string& process,
                                      bool has_terminal) {
    std::vector<std::string> words = {"exec", "--process", process};
    const std::vector<std::string> common = exec.for_host_runtime();
    words.insert(words.end(), common.begin(), common.end());
    if (has_terminal) {
        words.emplace_back("--tty");
    }
    if (exec.ignore_paused) {
        words.emplace_back("--ignore-paused");
    }
    words.push_back(exec.name);
    return words;
}

} // namespace

int execute_in_container(const GlobalOptions& options, const ExecOptions& exec) {
    const ContainerStore store(options.root, exec.name);
    if (!store.exists()) {
        throw InputError("container does not exist: " + exec.name);
    }
    if (!exec.cgroup.empty()) {
        throw InputError("--cgroup: the process runs in the guest, in the container's group there");
    }
    const nlohmann::json config = read_json(store.path_of("config.json"));
    nlohmann::json process =
        exec.process.empty() ? process_of_options(exec, config) : read_json(exec.process);
    process["terminal"] = process.value("terminal", false) || exec.has_terminal;
    check_process(process);
    make_further_process(process, config);
    const std::string number = std::to_string(getpid());
    const std::string file = "exec-" + number + ".json";
    const std::string host_file = store.path_of("exec-" + number + "-host.json");
    const std::vector<std::string> words = host_options(exec, host_file, process["terminal"]);
    write_json(store.path_of(file), process);
    write_json(host_file, make_host_process(process["terminal"], process,
                                            {passed_program, "-", this_program(), "--root", options.root,
                                             "further-process", store.name(), file}));
    const PassedDescriptors passed(store.connect());
    const int status = run_host_runtime(options, words, passed.numbers());
    unlink(host_file.c_str());
    if (status != 0) {
        unlink(store.path_of(file).c_str());
    }
    return status;
}

} // namespace previrt::oci
