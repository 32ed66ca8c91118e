// SPDX-License-Identifier: BSD-2-Clause
#include "host/svg_elements.hpp"

#include "host/xml_text.hpp"

#include <array>
#include <cstdio>

namespace previrt {

std::string svg_number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value);
    return text.data();
}

double svg_width_of(const std::string& text, double size) {
    return static_cast<double>(characters_of(text)) * size * 0.58;
}

std::string svg_text(double x, double y, const std::string& text, const SvgLetters& letters) {
    constexpr std::array<const char*, 3> anchors = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" font-size=\"" +
           svg_number(letters.size) + "\" fill=\"" + letters.color + "\"" +
           anchors.at(static_cast<std::size_t>(letters.anchor)) + letters.style + ">" + escape_xml(text) +
           "</text>\n";
}

std::string svg_rectangle(const char* kind, double x, double y, double wide, double high, const char* color) {
    return std::string("<rect class=\"") + kind + "\" x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
           "\" width=\"" + svg_number(wide) + "\" height=\"" + svg_number(high) + "\" fill=\"" + color + "\"";
}

std::string svg_head(double width, double height, const std::string& title) {
    return R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + svg_number(width) + "\" height=\"" +
           svg_number(height) + "\" viewBox=\"0 0 " + svg_number(width) + " " + svg_number(height) +
           R"(" role="img" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">)" + "\n<title>" +
           escape_xml(title) + "</title>\n" + svg_rectangle("paper", 0, 0, width, height, "#ffffff") + "/>\n";
}

} // namespace previrt
