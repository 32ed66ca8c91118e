// SPDX-License-Identifier: BSD-2-Clause
// give_back MIB KEPT_MIB
// Fills and frees MIB MiB, twice, while KEPT_MIB MiB stay in use, and checks all of it. After each step it prints a line and
// waits for one of its input.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { words_in_page = 4096 / sizeof(uint64_t) };

struct block {
    uint64_t *words;
    size_t pages;
    uint64_t seed;
};

static uint64_t word_of(const struct block *block, size_t page, size_t word) {
    uint64_t value = block->seed + (page * words_in_page) + word;
    value ^= value << 13;
    value *= 0x9e3779b97f4a7c15;
    return value ^ (value >> 29);
}

static struct block map(size_t mib, uint64_t seed) {
    struct block block = {.pages = mib << 8, .seed = seed};
    void *place = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
        perror("give_back: mmap");
        exit(1);
    }
    block.words = place;
    return block;
}

// The first word, the last one and one in between of each page.
static const size_t checked[] = {0, 300, words_in_page - 1};

static bool is_zero(const struct block *block) {
    for (size_t i = 0; i < block->pages * words_in_page; ++i) {
        if (block->words[i] != 0) {
            return false;
        }
    }
    return true;
}

static void fill(const struct block *block) {
    for (size_t page = 0; page < block->pages; ++page) {
        for (size_t i = 0; i < sizeof checked / sizeof checked[0]; ++i) {
            block->words[(page * words_in_page) + checked[i]] = word_of(block, page, checked[i]);
        }
    }
}

static bool is_right(const struct block *block) {
    for (size_t page = 0; page < block->pages; ++page) {
        for (size_t i = 0; i < sizeof checked / sizeof checked[0]; ++i) {
            if (block->words[(page * words_in_page) + checked[i]] != word_of(block, page, checked[i])) {
                return false;
            }
        }
    }
    return true;
}

static void say(const char *step) {
    printf("give_back: %s\n", step);
    fflush(stdout);
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL) {
        puts("give_back: no answer");
        exit(1);
    }
}

int main(int count, char **arguments) {
    if (count != 3) {
        return 2;
    }
    const size_t mib = strtoul(arguments[1], NULL, 10);
    const struct block kept = map(strtoul(arguments[2], NULL, 10), 1);
    fill(&kept);
    say("begins");
    bool right = true;
    for (uint64_t round = 0; round < 2; ++round) {
        const struct block block = map(mib, 2 + round);
        right = right && is_zero(&block);
        fill(&block);
        say("holds");
        right = right && is_right(&block) && is_right(&kept);
        munmap(block.words, mib << 20);
        say("freed");
    }
    right = right && is_right(&kept);
    printf("give_back: %s\n", right ? "right" : "WRONG");
    return right ? 0 : 1;
}
