// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace previrt {

// A coordinate, in an attribute.
std::string svg_number(double value);

// Of sans-serif letters of this size: a generous average.
double svg_width_of(const std::string& text, double size);

enum class SvgAnchor : std::uint8_t { start, middle, end };

struct SvgLetters {
    double size;
    const char* color;
    SvgAnchor anchor = SvgAnchor::start;
    const char* style = ""; // further attributes
};

std::string svg_text(double x, double y, const std::string& text, const SvgLetters& letters);

// Without its end: "/>", or a title and "</rect>".
std::string svg_rectangle(const char* kind, double x, double y, double wide, double high, const char* color);

// The beginning of a document with a white background, up to its first element.
std::string svg_head(double width, double height, const std::string& title);
constexpr const char* svg_end = "</svg>\n";

} // namespace previrt
