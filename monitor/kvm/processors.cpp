// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/processors.hpp"

#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"
#include "monitor/kvm/time.hpp"

#include <exception>
#include <string>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <utility>

namespace previrt {

KvmProcessors::KvmProcessors(const Descriptor& kvm, const Descriptor& machine, unsigned count) {
    const int most =
        kvm_request(kvm, KVM_CHECK_EXTENSION, "KVM_CHECK_EXTENSION", std::uintptr_t{KVM_CAP_MAX_VCPUS});
    if (count > 1 && count > static_cast<unsigned>(most)) {
        throw InputError("--cpus: this host's KVM gives a guest " + std::to_string(most) + " at most, not " +
                         std::to_string(count));
    }
    for (unsigned i = 0; i < count; ++i) {
        processors_.push_back(std::make_unique<KvmProcessor>(kvm, machine, i));
        if (i != 0) { // the boot processor's comes with the time: start_kvm_time
            set_rate_of_host(processors_.back()->descriptor());
        }
    }
}

void KvmProcessors::prepare(const kvm::ImageHeader& header, const KvmLayout& layout, UserMode user_mode) {
    for (unsigned i = 0; i < processors_.size(); ++i) {
        processors_[i]->prepare(header, layout.first_root_of(i), user_mode);
    }
}

bool KvmProcessors::show_stolen_times(const KvmLayout& layout) const {
    std::uint64_t place = layout.physical(layout.stolen_times.offset);
    for (const std::unique_ptr<KvmProcessor>& processor : processors_) {
        if (!processor->show_stolen_time(place)) {
            return false;
        }
        place += kvm::stolen_time_bytes;
    }
    return true;
}

void KvmProcessors::run_one(KvmProcessor& processor, std::span<std::uint8_t> memory, Backing backing,
                            const Descriptor& ended) noexcept {
    ProcessorEnd end;
    try {
        confine_processor_thread(processor.descriptor().number());
        end = processor.run(memory, backing);
    } catch (const std::exception& error) {
        end = {.guest_rang = false, .failure = error.what()};
    }
    if (!has_end_.test_and_set()) {
        end_ = std::move(end);
    }
    eventfd_write(ended.number(), 1);
}

ProcessorEnd KvmProcessors::run(std::span<std::uint8_t> memory, Backing backing, const Descriptor& ended) {
    std::vector<std::jthread> threads;
    try {
        for (std::size_t i = 1; i < processors_.size(); ++i) {
            threads.emplace_back(
                [this, i, memory, backing, &ended] { run_one(*processors_[i], memory, backing, ended); });
        }
    } catch (const std::system_error&) { // this machine gives no more threads
        stop();
        throw;
    }
    run_one(boot_processor(), memory, backing, ended);
    threads.clear(); // waits for them
    return end_;
}

void KvmProcessors::stop() const {
    for (const std::unique_ptr<KvmProcessor>& processor : processors_) {
        processor->stop();
    }
}

KvmExits KvmProcessors::exits() const {
    KvmExits sum;
    for (const std::unique_ptr<KvmProcessor>& processor : processors_) {
        for (const auto& [reason, count] : processor->exits()) {
            sum[reason] += count;
        }
    }
    return sum;
}

std::vector<KvmStat> KvmProcessors::read_stats() const {
    std::vector<KvmStat> sum = boot_processor().read_stats();
    for (std::size_t i = 1; i < processors_.size(); ++i) {
        add_stats(sum, processors_[i]->read_stats());
    }
    return sum;
}

} // namespace previrt
