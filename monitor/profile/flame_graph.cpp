// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/flame_graph.hpp"

#include "host/svg_elements.hpp"
#include "host/xml_text.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace previrt {

namespace {

constexpr double width = 1200;
constexpr double margin = 10;
constexpr double head = 34;
constexpr double row_height = 18;
constexpr double narrowest = 0.2;
constexpr double letters = 11;
constexpr unsigned levels = 4;
constexpr const char* ink = "#1f2328";

// A colour for each cause, for all that is above it.
constexpr std::array<const char*, cause_count> colors = {
    "#c9ced4", "#f4b183", "#e57373", "#9ec5e8", "#7fb3d5", "#5b9bd5", "#d98880",
    "#a9d18e", "#c5e0b4", "#ffd966", "#f7a8a8", "#b8a9d9", "#f2d0a9"};

struct Frame {
    std::uint64_t value = 0;
    std::map<std::string, Frame> above;
};

class Drawing {
public:
    Drawing(const Profile& profile, std::string title) : profile_(profile), title_(std::move(title)) {}

    std::string draw() {
        for (const ProfileRow& row : profile_.rows) {
            add(row, profile_.value_of(row));
        }
        body_ += svg_text(margin, 22, title_, {.size = 15, .color = ink, .style = " font-weight=\"bold\""});
        draw_frame(all_, "all", margin, 0, "#e8eaed");
        const double height = head + (levels * row_height) + margin;
        return svg_head(width, height, title_) + body_ + svg_end;
    }

private:
    void add(const ProfileRow& row, std::uint64_t value) {
        if (value == 0) {
            return;
        }
        Frame& cause = all_.above[cause_names[static_cast<std::size_t>(row.counted.cause)]];
        Frame& function = cause.above[row.function_or_place()];
        for (Frame* const frame : {&all_, &cause, &function, &function.above[row.leaf()]}) {
            frame->value += value;
        }
    }

    [[nodiscard]] double width_of(std::uint64_t value) const {
        return static_cast<double>(value) / static_cast<double>(std::max<std::uint64_t>(all_.value, 1)) *
               (width - (2 * margin));
    }

    void draw_frame(const Frame& frame, const std::string& name, double x, unsigned level,
                    const char* color) {
        const double wide = width_of(frame.value);
        if (wide < narrowest) {
            return;
        }
        const double y = head + ((levels - 1 - level) * row_height);
        const char* const unit = profile_.by == ProfileBy::cycles ? " cycles" : " times";
        body_ += svg_rectangle("frame", x, y, std::max(wide - 0.5, narrowest), row_height - 1, color) +
                 "><title>" + escape_xml(name + ": " + std::to_string(frame.value) + unit) +
                 "</title></rect>\n";
        const std::string shown = fitting(name, wide - 6);
        if (!shown.empty()) {
            body_ += svg_text(x + 3, y + 12.5, shown,
                              {.size = letters, .color = ink, .style = " pointer-events=\"none\""});
        }
        for (const auto& [above, next] : frame.above) {
            draw_frame(next, above, x, level + 1, level == 0 ? color_of(above) : color);
            x += width_of(next.value);
        }
    }

    static const char* color_of(const std::string& cause) {
        const auto* const found = std::ranges::find(cause_names, cause);
        return colors.at(static_cast<std::size_t>(found - std::begin(cause_names)));
    }

    static std::string fitting(const std::string& name, double room) {
        if (svg_width_of(name, letters) <= room) {
            return name;
        }
        const double one = svg_width_of("x", letters);
        const auto characters = static_cast<std::size_t>(std::max(room, 0.0) / one);
        constexpr std::size_t fewest = 3;
        return characters < fewest ? std::string() : name.substr(0, characters - 2) + "..";
    }

    const Profile& profile_;
    std::string title_;
    Frame all_;
    std::string body_;
};

} // namespace

std::string draw_flame_graph(const Profile& profile, const std::string& title) {
    return Drawing(profile, title).draw();
}

} // namespace previrt
