// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace previrt::oci {

// Of the container's process on this machine, which runs the guest. `config`: as the engine has written it.
// `bundle`: the bundle's directory. `arguments`: the process's. It has all rights that previrt-oci has, until
// it has started the guest; what the container's own process may do is for the guest to enforce.
nlohmann::json make_host_configuration(const nlohmann::json& config, const std::string& bundle,
                                       const std::vector<std::string>& arguments);
// The same for a process of `exec`.
nlohmann::json make_host_process(bool has_terminal, const nlohmann::json& process,
                                 const std::vector<std::string>& arguments);

} // namespace previrt::oci
