// SPDX-License-Identifier: BSD-2-Clause
// The host keeps the global descriptor table: a guest's code and data segments are those of any 64-bit
// process, but for a thread's own (thread_segments.hpp).
#include "backends/process/segments.hpp"

#include "backends/common/ring3/segment_bases.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/thread_segments.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::process {

namespace {

constexpr unsigned data_segments[] = {segment_es, segment_ds, segment_fs, segment_gs};

} // namespace

SegmentState read_segments() {
    SegmentState state{
        .selectors = {}, .fs_base = processor::read_fs_base(), .gs_base = processor::read_gs_base()};
    for (const unsigned segment : data_segments) {
        state.selectors[segment] = read_segment(segment);
    }
    return state;
}

void write_segments(const SegmentState& state) {
    for (const unsigned segment : data_segments) {
        if (read_segment(segment) != state.selectors[segment]) {
            write_segment(segment, selector_to_load(state.selectors[segment]));
        }
    }
    backend::write_fs_base(state.fs_base);
    write_active_gs_base(state.gs_base);
}

} // namespace previrt::process

namespace previrt {

// The front-end has the guest's selector.
std::uint16_t selector_to_load(std::uint16_t selector) {
    constexpr unsigned privilege = 3;
    constexpr unsigned in_local = 4;
    if ((selector & in_local) != 0) {
        return process::has_local_segment(selector) ? selector : 0;
    }
    const bool is_hosts = (selector | privilege) == selector_user_data;
    return is_hosts || process::has_thread_segment(selector) ? selector : 0;
}

} // namespace previrt

namespace previrt::backend {

void set_task_switched(bool set) {
    if (set) {
        stop_guest("CR0.TS and EM are not modelled in a process");
    }
}

// The host has enabled XSAVE and the instructions for FS and GS bases for all its processes. TSD would deny
// the time-stamp counter to the VMM too.
void set_extensions(std::uint64_t /*cr4*/) {}

} // namespace previrt::backend
