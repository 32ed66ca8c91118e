// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/choice.hpp"

#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace previrt {
namespace {

class FolderOptions : public testing::Test {
protected:
    FolderOptions() {
        for (const char* const name : {"one", "a:b", "with,ro", "longer-than-thirty-six-bytes-as-a-name"}) {
            std::filesystem::create_directory(path(name));
        }
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return std::filesystem::canonical(directory_.path()).string() + "/" + name;
    }
    static FolderChoice share(const std::string& text) {
        RunOptions options;
        options.shares = {text};
        return parse_folders(options).at(0);
    }
    static std::string refusal(const RunOptions& options) {
        try {
            parse_folders(options);
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    }
    static std::string refusal_of_shares(std::vector<std::string> shares) {
        RunOptions options;
        options.shares = std::move(shares);
        return refusal(options);
    }

private:
    TemporaryDirectory directory_;
};

TEST_F(FolderOptions, ShareHasATagAndMayBeReadOnly) {
    EXPECT_EQ(share(path("one")).path, path("one"));
    EXPECT_EQ(share(path("one")).tag, "one");
    EXPECT_FALSE(share(path("one")).is_read_only);
    EXPECT_TRUE(share(path("one") + ",ro").is_read_only);
    EXPECT_EQ(share(path("one") + ":tag").tag, "tag");
    EXPECT_EQ(share(path("one") + ":tag,ro").tag, "tag");
    EXPECT_TRUE(share(path("one") + ":tag,ro").is_read_only);
    EXPECT_EQ(share(path("one") + "/../one").path, path("one"));
    EXPECT_EQ(share("/").tag, "root");
}

TEST_F(FolderOptions, ColonBeforeASlashIsOfTheName) {
    EXPECT_EQ(share(path("a:b") + "/").path, path("a:b"));
    EXPECT_EQ(share(path("a:b") + ":tag").path, path("a:b"));
}

TEST_F(FolderOptions, RootIsTheFirst) {
    RunOptions options;
    options.root = path("one");
    options.shares = {path("one")};
    std::vector<FolderChoice> folders = parse_folders(options);
    ASSERT_EQ(folders.size(), 2U);
    EXPECT_EQ(folders[0].tag, root_tag);
    EXPECT_TRUE(folders[0].is_read_only);
    options.root_is_writable = true;
    EXPECT_FALSE(parse_folders(options)[0].is_read_only);
    EXPECT_TRUE(parse_folders({}).empty());
}

TEST_F(FolderOptions, ServersThatListenHaveATag) {
    RunOptions options;
    options.share_sockets = {"/a:b/socket:tag"};
    const std::vector<FolderChoice> folders = parse_folders(options);
    ASSERT_EQ(folders.size(), 1U);
    EXPECT_EQ(folders[0].path, "/a:b/socket");
    EXPECT_EQ(folders[0].tag, "tag");
    EXPECT_TRUE(folders[0].is_socket);
    options.shares = {path("one") + ":tag"};
    EXPECT_NE(refusal(options).find("another folder has the tag 'tag'"), std::string::npos);
    for (const char* const text : {"socket", ":tag", "socket:"}) {
        options.share_sockets = {text};
        EXPECT_EQ(refusal(options).find(std::string("--share-socket ") + text + ": "), 0U);
    }
}

TEST_F(FolderOptions, OthersAreRefused) {
    EXPECT_NE(refusal_of_shares({"/no/such/folder"}).find("/no/such/folder: No such file"),
              std::string::npos);
    EXPECT_NE(refusal_of_shares({"/etc/passwd"}).find("it is no folder"), std::string::npos);
    EXPECT_NE(refusal_of_shares({""}).find("there is no folder's name"), std::string::npos);
    EXPECT_NE(refusal_of_shares({",ro"}).find("there is no folder's name"), std::string::npos);
    EXPECT_NE(refusal_of_shares({":tag"}).find("there is no folder's name"), std::string::npos);
    EXPECT_NE(refusal_of_shares({path("one") + ":"}).find("a tag has 1 to 36"), std::string::npos);
    EXPECT_NE(refusal_of_shares({path("longer-than-thirty-six-bytes-as-a-name")}).find("DIR:TAG"),
              std::string::npos);
    EXPECT_NE(refusal_of_shares({path("one"), path("one") + ",ro"}).find("has the tag 'one' already"),
              std::string::npos);
    EXPECT_NE(refusal_of_shares({path("one") + ":1", path("one") + ":2", path("one") + ":3",
                                 path("one") + ":4", path("one") + ":5"})
                  .find("4 folders at most"),
              std::string::npos);
    RunOptions options;
    options.root_is_writable = true;
    EXPECT_NE(refusal(options).find("--rw"), std::string::npos);
    options.root = "/no/such/folder";
    EXPECT_NE(refusal(options).find("--root: /no/such/folder"), std::string::npos);
}

} // namespace
} // namespace previrt
