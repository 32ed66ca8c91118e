// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/svg.hpp"

#include "host/svg_elements.hpp"
#include "host/xml_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace previrt {

namespace {

constexpr double width = 860;
constexpr double margin = 16;
constexpr double room_for_text_of_bar = 66;
constexpr double between_groups = 12;
constexpr const char* ink = "#1f2328";
constexpr const char* faint_ink = "#59636e";
constexpr const char* reference_color = "#8a9199";

// Distinct for those who see fewer colours, too: ours are blue, peers are not.
constexpr std::array<const char*, 4> our_colors = {"#0b5fa5", "#5aa9e6", "#123a5e", "#a9d3f2"};
constexpr std::array<const char*, 4> peer_colors = {"#e08214", "#8e4a9e", "#4d9a5b", "#c23b3b"};

std::string vertical(double x, double from, double to, const char* color, double thick) {
    return "<line x1=\"" + svg_number(x) + "\" y1=\"" + svg_number(from) + "\" x2=\"" + svg_number(x) +
           "\" y2=\"" + svg_number(to) + "\" stroke=\"" + color + "\" stroke-width=\"" + svg_number(thick) +
           "\"/>\n";
}

class Drawing {
public:
    explicit Drawing(const Chart& chart) : chart_(chart) {
        for (const Panel& panel : chart.panels) {
            choose_colors(panel);
            for (const BarGroup& group : panel.groups) {
                left_ = std::max(
                    {left_, svg_width_of(group.name, name_size), svg_width_of(group.detail, detail_size)});
            }
        }
        for (const Colored& entry : colors_) {
            left_ = names_bars() ? std::max(left_, svg_width_of(entry.name, name_size)) : left_;
        }
        left_ = margin + std::min(left_, longest_name) + 10;
    }

    std::string draw() {
        draw_head();
        for (const Panel& panel : chart_.panels) {
            draw_panel(panel);
        }
        return svg_head(width, y_, chart_.title) + body_ + svg_end;
    }

private:
    static constexpr double name_size = 12;
    static constexpr double detail_size = 10;
    static constexpr double longest_name = 320;

    struct Colored {
        std::string name;
        const char* color;
    };

    void choose_colors(const Panel& panel) {
        for (const Series& series : panel.series) {
            if (std::ranges::find(colors_, series.name, &Colored::name) != colors_.end()) {
                continue;
            }
            const char* color = reference_color;
            if (series.role == Role::ours) {
                color = our_colors.at(ours_++ % our_colors.size());
            } else if (series.role == Role::peer) {
                color = peer_colors.at(peers_++ % peer_colors.size());
            }
            colors_.push_back({.name = series.name, .color = color});
        }
    }

    void draw_head() {
        y_ = margin + 14;
        body_ += svg_text(margin, y_, chart_.title, {17, ink, SvgAnchor::start, " font-weight=\"bold\""});
        if (!chart_.source.empty()) {
            y_ += 19;
            body_ += svg_text(margin, y_, chart_.source, {11, faint_ink, SvgAnchor::start, ""});
        }
        if (names_bars()) {
            y_ += 6;
            return;
        }
        y_ += 24;
        double x = margin;
        for (const Colored& entry : colors_) {
            body_ += svg_rectangle("key", place_of_key(x, entry.name), y_ - 10, 12, 12, entry.color) + "/>\n";
            x = text_of_key(x, entry.name);
        }
        if (!chart_.base_line.empty()) {
            const double key = place_of_key(x, chart_.base_line);
            body_ += vertical(key + 6, y_ - 12, y_ + 4, ink, 1.6);
            text_of_key(x, chart_.base_line);
        }
        y_ += 14;
    }

    // One group alone: names at its bars are read quicker than a key.
    [[nodiscard]] bool names_bars() const {
        return chart_.panels.size() == 1 && chart_.panels.front().groups.size() == 1;
    }

    // Begins a line if this entry does not fit.
    double place_of_key(double& x, const std::string& name) {
        if (x > margin && x + 18 + svg_width_of(name, name_size) > width - margin) {
            x = margin;
            y_ += 18;
        }
        return x;
    }

    double text_of_key(double x, const std::string& name) {
        body_ += svg_text(x + 18, y_, name, {name_size, ink, SvgAnchor::start, ""});
        return x + 18 + svg_width_of(name, name_size) + 22;
    }

    [[nodiscard]] double height_of_bar(const Panel& panel) const {
        if (names_bars()) {
            return 18;
        }
        return panel.series.size() > 2 ? 10 : 12;
    }

    [[nodiscard]] double between_bars() const { return names_bars() ? 4 : 1; }
    [[nodiscard]] double size_of_value() const { return names_bars() ? 12 : 10; }

    [[nodiscard]] double height_of(const Panel& panel, const BarGroup& group) {
        const double bars = static_cast<double>(group.bars.size()) * (height_of_bar(panel) + between_bars());
        return std::max(bars, group.detail.empty() ? 14.0 : 26.0) + between_groups;
    }

    void draw_panel(const Panel& panel) {
        const bool goes_left = std::ranges::any_of(panel.groups, [&](const BarGroup& group) {
            return std::ranges::any_of(
                group.bars, [&](const auto& bar) { return bar && bar->value < panel.axis.base(); });
        });
        begin_ = left_ + (goes_left ? room_for_text_of_bar - 16 : 0);
        end_ = width - margin - room_for_text_of_bar;
        y_ += 22;
        if (!panel.axis_title.empty()) {
            const std::string title =
                names_bars() ? panel.axis_title + " of " + panel.groups.front().name : panel.axis_title;
            body_ += svg_text(margin, y_, title, {name_size, ink, SvgAnchor::start, " font-weight=\"bold\""});
            y_ += 18;
        }
        draw_sides(panel);
        const double labels = y_;
        y_ += 6;
        const double top = y_;
        std::string groups;
        std::swap(groups, body_);
        for (std::size_t i = 0; i < panel.groups.size(); ++i) {
            draw_group(panel, panel.groups[i], i % 2 == 0);
        }
        std::swap(groups, body_);
        // The bands lie below the grid, and that below the bars.
        body_ += bands_;
        bands_.clear();
        draw_grid(panel, labels, top);
        body_ += groups;
        body_ += vertical(place(panel, panel.axis.base()), top, y_, ink, 1.6);
        y_ += 10;
    }

    void draw_sides(const Panel& panel) {
        const double base = place(panel, panel.axis.base());
        if (!panel.below.empty() && base > begin_) {
            body_ += svg_text(base - 8, y_, "\u25c0 " + panel.below, {11, faint_ink, SvgAnchor::end, ""});
        }
        if (!panel.above.empty()) {
            body_ += svg_text(base + 8, y_, panel.above + " \u25b6", {11, faint_ink, SvgAnchor::start, ""});
        }
        y_ += panel.below.empty() && panel.above.empty() ? 0 : 17;
    }

    void draw_grid(const Panel& panel, double labels, double top) {
        for (std::size_t i = 0; i < panel.axis.marks().size(); ++i) {
            const double x = place(panel, panel.axis.marks()[i]);
            body_ += vertical(x, top, y_, "#d1d9e0", 1);
            body_ += svg_text(x, labels, panel.marks.at(i), {10, faint_ink, SvgAnchor::middle, ""});
        }
    }

    void draw_group(const Panel& panel, const BarGroup& group, bool has_band) {
        const double high = height_of(panel, group);
        if (has_band) {
            bands_ += svg_rectangle("band", margin / 2, y_, width - margin, high, "#f3f5f8") + "/>\n";
        }
        const double middle = y_ + (high / 2);
        if (!names_bars()) {
            draw_name(group, middle);
        }
        const double bar = height_of_bar(panel) + between_bars();
        double y = middle - (bar * static_cast<double>(group.bars.size()) / 2);
        for (std::size_t i = 0; i < group.bars.size(); ++i) {
            draw_bar(panel, group, i, y);
            y += bar;
        }
        y_ += high;
    }

    void draw_name(const BarGroup& group, double middle) {
        const double name = middle + (group.detail.empty() ? 4 : -2);
        body_ += svg_text(left_ - 10, name, group.name, {name_size, ink, SvgAnchor::end, ""});
        if (!group.detail.empty()) {
            body_ +=
                svg_text(left_ - 10, name + 14, group.detail, {detail_size, faint_ink, SvgAnchor::end, ""});
        }
    }

    void draw_bar(const Panel& panel, const BarGroup& group, std::size_t series, double y) {
        const double base = place(panel, panel.axis.base());
        const double high = height_of_bar(panel);
        const double size = size_of_value();
        const double text = y + (high / 2) + (size * 0.35);
        const std::string& name = panel.series.at(series).name;
        if (names_bars()) {
            body_ += svg_text(left_ - 10, text, name, {name_size, ink, SvgAnchor::end, ""});
        }
        const std::optional<Bar>& bar = group.bars[series];
        if (!bar) {
            body_ += svg_text(base + 4, text, "not measured",
                              {size, faint_ink, SvgAnchor::start, " font-style=\"italic\""});
            return;
        }
        const double end = place(panel, bar->value);
        body_ += svg_rectangle("bar", std::min(base, end), y, std::abs(end - base), high, color_of(name)) +
                 "><title>" + escape_xml(group.name + ", " + name + ": " + bar->text) + "</title></rect>\n";
        const bool is_left = bar->value < panel.axis.base();
        body_ += svg_text(is_left ? end - 4 : end + 4, text, bar->text,
                          {size, ink, is_left ? SvgAnchor::end : SvgAnchor::start, ""});
    }

    [[nodiscard]] double place(const Panel& panel, double value) const {
        return begin_ + (panel.axis.place(value) * (end_ - begin_));
    }

    [[nodiscard]] const char* color_of(const std::string& name) const {
        return std::ranges::find(colors_, name, &Colored::name)->color;
    }

    const Chart& chart_;
    std::vector<Colored> colors_;
    std::size_t ours_ = 0;
    std::size_t peers_ = 0;
    double left_ = 0; // the ends of the names
    double begin_ = 0;
    double end_ = 0; // of the axis
    double y_ = 0;
    std::string body_;
    std::string bands_;
};

} // namespace

std::string draw_svg(const Chart& chart) {
    return Drawing(chart).draw();
}

} // namespace previrt
