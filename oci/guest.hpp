// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/channel/guest_process.hpp"
#include "monitor/options.hpp"
#include "oci/network/namespace_network.hpp"
#include "oci/store.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace previrt::oci {

// The container's process as the guest's agent starts it. Throws InputError.
GuestProcess make_container_process(const nlohmann::json& config,
                                    const std::optional<NamespaceNetwork>& network = {});
// A further process of the container.
GuestProcess make_further_process(const nlohmann::json& process, const nlohmann::json& config);
// The guest's memory and processors by the container's limits, and its kernel. `options`: of the container's
// options.json.
RunOptions make_run_options(const nlohmann::json& options, const nlohmann::json& config);

// The two programs behind a container's process: they give the exit status of the process in the guest. The
// socket of PassedDescriptors is their descriptor 5.
int run_container_guest(const ContainerStore& store);
int run_further_process(const ContainerStore& store, const std::string& file);

} // namespace previrt::oci
