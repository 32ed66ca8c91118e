// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <iostream>
#include <string>
#include <vector>

namespace previrt {

// Measures each place once a run. Places take turns, so that other load on the machine affects all of them.
// Those for which `works` is false are dropped.
template <typename Place, typename Works>
void take_turns(std::vector<Place>& places, unsigned runs, const Works& works) {
    for (unsigned run = 1; run <= runs; ++run) {
        for (auto place = places.begin(); place != places.end();) {
            std::cerr << "previrt: run " << run << " of " << runs << ": " << place->name << '\n';
            place = works(*place) ? place + 1 : places.erase(place);
        }
    }
}

} // namespace previrt
