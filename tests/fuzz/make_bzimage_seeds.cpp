// SPDX-License-Identifier: BSD-2-Clause
// A kernel in every compression: as a payload alone and in a whole bzImage.
#include "host/file.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/unit/compress.hpp"
#include "tests/unit/make_bzimage.hpp"

namespace previrt {

namespace {

constexpr std::size_t kernel_size = 3000;

} // namespace

void write_seeds(const std::string& directory) {
    const Buffer data = sample_kernel(kernel_size);
    for (const Sample& sample : every_compression_of(data)) {
        const bool own_trailer =
            sample.compression == Compression::gzip || sample.compression == Compression::none;
        const Buffer payload = own_trailer ? sample.stream : with_size_trailer(sample.stream, kernel_size);
        const std::string name = directory + "/" + std::string(name_of(sample.compression));
        write_file(name, payload);
        write_file(name + "-bzimage", make_bzimage(payload));
    }
}

} // namespace previrt
