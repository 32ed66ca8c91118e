// SPDX-License-Identifier: BSD-2-Clause
// Functions that the compiler calls by itself; there is no libc.
#include <cstddef>
#include <cstdint>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t bytes) {
    void* const result = to;
    std::size_t words = bytes / 8; // NOLINT(misc-const-correctness): asm writes it
    bytes %= 8;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return result;
}

void* memset(void* to, int value, std::size_t bytes) {
    void* const result = to;
    const std::uint64_t word = std::uint64_t{static_cast<std::uint8_t>(value)} * 0x0101010101010101;
    std::size_t words = bytes / 8; // NOLINT(misc-const-correctness): asm writes it
    bytes %= 8;
    asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
    asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(word) : "memory");
    return result;
}

void* memmove(void* to, const void* from, std::size_t bytes) {
    auto* const target = static_cast<unsigned char*>(to);
    const auto* const source = static_cast<const unsigned char*>(from);
    if (target <= source || target >= source + bytes) {
        return memcpy(to, from, bytes);
    }
    std::size_t left = bytes;
    for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t)) { // backwards
        std::uint64_t word = 0;
        __builtin_memcpy(&word, source + left - sizeof(word), sizeof(word));
        __builtin_memcpy(target + left - sizeof(word), &word, sizeof(word));
    }
    for (; left > 0; --left) {
        target[left - 1] = source[left - 1];
    }
    return to;
}

int memcmp(const void* left, const void* right, std::size_t bytes) {
    const auto* const a = static_cast<const unsigned char*>(left);
    const auto* const b = static_cast<const unsigned char*>(right);
    std::size_t same = 0;
    for (std::uint64_t x = 0, y = 0; same + sizeof(x) <= bytes; same += sizeof(x)) {
        __builtin_memcpy(&x, a + same, sizeof(x));
        __builtin_memcpy(&y, b + same, sizeof(y));
        if (x != y) {
            break;
        }
    }
    for (std::size_t i = same; i < bytes; ++i) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

std::size_t strlen(const char* text) {
    std::size_t length = 0;
    while (text[length] != '\0') {
        ++length;
    }
    return length;
}
}
