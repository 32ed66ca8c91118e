// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/pack.hpp"

#include "host/file.hpp"
#include "host/tree.hpp"
#include "toolchain/pack/guest_package.hpp"
#include "toolchain/pack/vmm_image.hpp"
#include "toolchain/pack/xen_domain.hpp"

#include <filesystem>

namespace previrt {

PackedGuest pack_for_xen(const PackOptions& options) {
    const std::vector<std::uint8_t> vmm = read_vmm_image(Hypervisor::xen, options.vmm);
    const GuestKernel kernel = load_guest_kernel(options.kernel, options.memory);
    const std::vector<std::uint8_t> package =
        make_guest_package(kernel, {.initrd = options.initrd,
                                    .append = options.append,
                                    .memory = options.memory,
                                    .print_counters = options.print_counters,
                                    .count_cycles = options.count_cycles,
                                    .strict = options.strict});

    make_directories(options.output);
    const std::string directory = std::filesystem::canonical(options.output).string();
    PackedGuest packed{.vmm = directory + "/previrt-xen",
                       .package = directory + "/guest",
                       .configuration = directory + "/guest.cfg",
                       .kernel_sha256 = kernel.sha256,
                       .domain_memory = domain_memory(options.memory, package.size(), options.processors)};
    write_file(packed.vmm, vmm);
    write_file(packed.package, package);
    write_text(packed.configuration, xl_configuration({.name = options.domain,
                                                       .kernel = packed.vmm,
                                                       .module = packed.package,
                                                       .command_line = {},
                                                       .memory = packed.domain_memory,
                                                       .processors = options.processors,
                                                       .at_end = {},
                                                       .vif = {},
                                                       .disks = {}}));
    return packed;
}

} // namespace previrt
