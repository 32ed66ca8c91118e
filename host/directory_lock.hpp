// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/input_error.hpp"
#include "host/program.hpp"

#include <fcntl.h>
#include <string>
#include <sys/file.h>

namespace previrt {

// Held while a process fills a directory that several builds share. The lock is a file beside the directory.
class DirectoryLock {
public:
    explicit DirectoryLock(const std::string& directory)
        : file_(open((directory + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
        if (file_.number() < 0 || flock(file_.number(), LOCK_EX) != 0) {
            throw InputError(directory + ".lock: cannot lock it");
        }
    }

private:
    Descriptor file_;
};

} // namespace previrt
