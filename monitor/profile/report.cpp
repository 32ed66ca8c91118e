// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/report.hpp"

#include "toolchain/image/places.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

struct Sum {
    Cause cause;
    std::uint64_t count = 0;
    std::uint64_t cycles = 0;
};

// The largest first.
std::vector<Sum> sums_of(const Profile& profile) {
    std::vector<Sum> sums;
    for (const ProfileRow& row : profile.rows) {
        auto found = std::ranges::find(sums, row.counted.cause, &Sum::cause);
        if (found == sums.end()) {
            sums.push_back({.cause = row.counted.cause});
            found = std::prev(sums.end());
        }
        found->count += row.counted.count;
        found->cycles += row.counted.cycles;
    }
    std::ranges::sort(sums, [&](const Sum& left, const Sum& right) {
        const auto value = profile.by == ProfileBy::cycles ? &Sum::cycles : &Sum::count;
        return left.*value != right.*value ? left.*value > right.*value : left.cause < right.cause;
    });
    return sums;
}

const char* name_of(Cause cause) {
    return cause_names[static_cast<std::size_t>(cause)];
}

std::string share(std::uint64_t value, std::uint64_t all) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%.1f %%",
                  all == 0 ? 0 : 100 * static_cast<double>(value) / static_cast<double>(all));
    return text.data();
}

class Table {
public:
    Table(std::ostream& output, const Profile& profile) : output_(output), profile_(profile) {
        for (const ProfileRow& row : profile.rows) {
            all_ += profile.value_of(row);
        }
    }

    void head(const char* rest) const {
        output_ << std::right << std::setw(count_width) << "count";
        if (profile_.have_cycles) {
            output_ << std::setw(cycles_width) << "cycles";
        }
        output_ << std::setw(share_width) << "share" << "  " << rest << '\n';
    }

    void values(std::uint64_t count, std::uint64_t cycles) const {
        output_ << std::right << std::setw(count_width) << count;
        if (profile_.have_cycles) {
            output_ << std::setw(cycles_width) << cycles;
        }
        output_ << std::setw(share_width) << share(profile_.by == ProfileBy::cycles ? cycles : count, all_)
                << "  ";
    }

private:
    static constexpr int count_width = 12;
    static constexpr int cycles_width = 15;
    static constexpr int share_width = 9;

    std::ostream& output_;
    const Profile& profile_;
    std::uint64_t all_ = 0;
};

void print_row(std::ostream& output, const ProfileRow& row) {
    constexpr int cause_width = 15;
    constexpr int kind_width = 28;
    output << std::left << std::setw(cause_width) << name_of(row.counted.cause) << std::setw(kind_width)
           << (row.counted.kind.empty() ? "-" : row.counted.kind) << row.instruction();
    if (!row.line.empty()) {
        output << "  " << row.line;
    }
    output << '\n';
}

} // namespace

void print_profile(std::ostream& output, const Profile& profile, std::size_t most) {
    const Table table(output, profile);
    table.head("cause");
    for (const Sum& sum : sums_of(profile)) {
        table.values(sum.count, sum.cycles);
        output << name_of(sum.cause) << '\n';
    }
    output << '\n';
    table.head("cause          kind                        instruction");
    std::size_t printed = 0;
    for (const ProfileRow& row : profile.rows) {
        if (printed++ == most) {
            break;
        }
        table.values(row.counted.count, row.counted.cycles);
        print_row(output, row);
    }
    if (profile.rows.size() > most) {
        output << "  " << profile.rows.size() - most << " further rows (--top)\n";
    }
    if (profile.rows_left_out != 0) {
        output << "  the VMM left out " << profile.rows_left_out << " rows with " << profile.counts_left_out
               << " counts\n";
    }
}

nlohmann::ordered_json profile_to_json(const Profile& profile, const std::string& symbols) {
    nlohmann::ordered_json sums = nlohmann::ordered_json::object();
    for (const Sum& sum : sums_of(profile)) {
        sums[name_of(sum.cause)] = {{"count", sum.count}};
        if (profile.have_cycles) {
            sums[name_of(sum.cause)]["cycles"] = sum.cycles;
        }
    }
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ProfileRow& row : profile.rows) {
        nlohmann::ordered_json json = {{"cause", name_of(row.counted.cause)}};
        const auto add = [&](const char* name, const std::string& text) {
            if (!text.empty()) {
                json[name] = text;
            }
        };
        add("kind", row.counted.kind);
        if (row.counted.in == CountedIn::kernel) {
            json["address"] = hex(row.counted.address);
            add("function", row.function);
            if (!row.function.empty()) {
                json["offset"] = row.offset;
            }
            add("line", row.line);
        } else {
            json["place"] = row.counted.in == CountedIn::programs ? "programs" : "elsewhere";
        }
        json["count"] = row.counted.count;
        if (profile.have_cycles) {
            json["cycles"] = row.counted.cycles;
        }
        rows.push_back(std::move(json));
    }
    return {{"symbols", symbols},
            {"by", profile.by == ProfileBy::cycles ? "cycles" : "count"},
            {"causes", sums},
            {"rows", rows},
            {"left_out", {{"rows", profile.rows_left_out}, {"count", profile.counts_left_out}}}};
}

std::string folded_stacks(const Profile& profile) {
    std::string text;
    for (const ProfileRow& row : profile.rows) {
        if (const std::uint64_t value = profile.value_of(row); value != 0) {
            text += std::string(name_of(row.counted.cause)) + ';' + row.function_or_place() + ';' +
                    row.leaf() + ' ' + std::to_string(value) + '\n';
        }
    }
    return text;
}

} // namespace previrt
