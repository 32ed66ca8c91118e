// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

namespace previrt {

// Says how far along an axis a value lies. Bars begin at base().
class Axis {
public:
    // Contains 0, where bars begin, and both values.
    static Axis linear(double least, double most);
    // Contains both values, which are positive. Bars begin at the low end.
    static Axis logarithmic(double least, double most);
    // The same, and bars begin at 1: they go to the left for smaller values.
    static Axis of_ratios(double least, double most);

    // 0 at the low end, 1 at the high one. A logarithmic axis has 0 and all below its low end there.
    [[nodiscard]] double place(double value) const;
    [[nodiscard]] double base() const { return base_; }
    [[nodiscard]] bool is_logarithmic() const { return logarithmic_; }
    // Round values for labels, in rising order.
    [[nodiscard]] const std::vector<double>& marks() const { return marks_; }

private:
    Axis(bool logarithmic, double least, double most, double base, std::vector<double> marks);

    bool logarithmic_;
    double least_;
    double most_;
    double base_;
    std::vector<double> marks_;
};

} // namespace previrt
