// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/domain_transfers.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/guest/vmm_end.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace previrt {

namespace {

constexpr const char* powered_off = "0"; // Xen's reason for a shutdown (public/sched.h)

// A guest's console, line by line.
class DomainReader {
public:
    void read(std::string_view text) {
        console_ += text;
        for (std::size_t end = console_.find('\n', done_); end != std::string::npos;
             end = console_.find('\n', done_)) {
            read_line(std::string_view(console_).substr(done_, end - done_));
            done_ = end + 1;
        }
    }

    [[nodiscard]] const std::string& console() const { return console_; }
    [[nodiscard]] const TransfersReader& transfers() const { return transfers_; }

private:
    void read_line(std::string_view line) {
        std::istringstream words{std::string(line)};
        std::string word;
        double of_dom0 = 0;
        double of_guest = 0;
        if (words >> word && word == "domain-times" && words >> of_dom0 >> of_guest) {
            used_ = {{"cpu", (of_dom0 + of_guest) / 1e9}, {"guest", of_guest / 1e9}};
        }
        transfers_.read_line(line);
    }

    std::string console_;
    std::size_t done_ = 0;
    ProcessorSeconds used_; // at the guest's last request
    TransfersReader transfers_{[this] { return used_; }};
};

} // namespace

std::vector<Dom0File> dom0_network_files() {
    return {{.name = "before", .contents = read_file(in_source_tree("bench/guest/dom0-net.sh"))},
            {.name = "traffic", .contents = read_file(PREVIRT_TRAFFIC), .executable = true},
            {.name = "domain-times", .contents = read_file(PREVIRT_DOMAIN_TIMES), .executable = true}};
}

std::vector<NetworkTransfer> measure_domain(RunOptions options, const DomainBesideDom0& beside,
                                            std::size_t transfers) {
    DomainReader reader;
    options.console = [&](std::string_view text) { reader.read(text); };
    XenConsole console(FirstDomain::dom0, options.verbose);
    const MachineEnd end = run_beside_dom0(options, beside, console);
    const bool ended_well =
        !judge_guest(options, end) && console.domain_end().value_or("") == powered_off &&
        write_counters(options, console.vmm(), guest_ended, nlohmann::json::object()) == guest_ended;
    if (!ended_well) {
        console.log().print_end(std::cerr);
        throw InputError("the domain did not power off (" + console.domain_end().value_or("it ran on") +
                         "); its console:\n" + reader.console());
    }
    reader.transfers().check_complete(transfers, reader.console());
    return reader.transfers().done();
}

} // namespace previrt
