// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/stats.hpp"

#include "monitor/kvm/interface.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace previrt {

namespace {

// A file of KVM's statistics (KVM_GET_STATS_FD). Every offset is checked.
class StatsFile {
public:
    explicit StatsFile(const Descriptor& file) {
        constexpr std::size_t most_bytes = std::size_t{1} << 20U;
        std::vector<char> block(4096);
        for (ssize_t got = 0;
             bytes_.size() < most_bytes && (got = pread(file.number(), block.data(), block.size(),
                                                        static_cast<off_t>(bytes_.size()))) > 0;) {
            bytes_.insert(bytes_.end(), block.begin(), block.begin() + got);
        }
    }

    template <typename Value>
    [[nodiscard]] bool read(std::size_t offset, Value& value) const {
        if (offset > bytes_.size() || sizeof value > bytes_.size() - offset) {
            return false;
        }
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return true;
    }

    [[nodiscard]] std::string text(std::size_t offset, std::size_t bytes) const {
        if (offset > bytes_.size() || bytes > bytes_.size() - offset) {
            return "";
        }
        const std::string_view all(bytes_.data() + offset, bytes);
        return std::string(all.substr(0, all.find('\0')));
    }

private:
    std::vector<char> bytes_;
};

} // namespace

KvmStats::KvmStats(const Descriptor& machine_or_processor)
    : file_(ioctl(machine_or_processor.number(), KVM_GET_STATS_FD, nullptr)) {}

std::vector<KvmStat> KvmStats::read() const {
    std::vector<KvmStat> stats;
    if (file_.number() < 0) {
        return stats;
    }
    const StatsFile file(file_);
    kvm_stats_header header{};
    if (!file.read(0, header)) {
        return stats;
    }
    for (std::size_t i = 0; i < header.num_desc; ++i) {
        const std::size_t at = header.desc_offset + (i * (sizeof(kvm_stats_desc) + header.name_size));
        kvm_stats_desc description{};
        std::uint64_t value = 0;
        if (!file.read(at, description) ||
            !file.read(std::size_t{header.data_offset} + description.offset, value)) {
            break;
        }
        if (description.size == 1 && value != 0) {
            stats.push_back({.name = file.text(at + sizeof description, header.name_size), .value = value});
        }
    }
    return stats;
}

void add_stats(std::vector<KvmStat>& sum, const std::vector<KvmStat>& stats) {
    for (const KvmStat& stat : stats) {
        const auto same = std::ranges::find(sum, stat.name, &KvmStat::name);
        if (same == sum.end()) {
            sum.push_back(stat);
        } else {
            same->value += stat.value;
        }
    }
}

} // namespace previrt
