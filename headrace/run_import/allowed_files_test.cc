#include "headrace/run_import/allowed_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "headrace/base/text.h"
#include "headrace/run_import/value_test.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

Location local(const fs::path& path) {
  const std::string key = path.string().substr(1);
  return {make_memory_store("unused"), key, {.scheme = "file", .authority = "", .path = key}};
}

Location remote(const std::string& bucket, const std::string& key) {
  return {make_memory_store(bucket), key, {.scheme = "s3", .authority = bucket, .path = key}};
}

TEST(AllowedFiles, HaveThePlaceAndAllBelowIt) {
  const AllowedFiles allowed({remote("b", "runs")});
  EXPECT_TRUE(allowed.contains(remote("b", "runs")));
  EXPECT_TRUE(allowed.contains(remote("b", "runs/1/a.txt")));
  EXPECT_FALSE(allowed.contains(remote("b", "runs2/a.txt")));
  EXPECT_FALSE(allowed.contains(remote("b", "")));
  EXPECT_FALSE(allowed.contains(remote("other", "runs/1")));
  EXPECT_FALSE(allowed.contains(remote("b", "runs/../secret")));
  EXPECT_FALSE(allowed.contains(local("/runs/1")));
  EXPECT_TRUE(AllowedFiles({remote("b", "")}).contains(remote("b", "any")));
  EXPECT_FALSE(AllowedFiles({}).contains(remote("b", "any")));
}

TEST(AllowedFiles, OnThisMachineThePlaceThatLinksLeadToCounts) {
  const fs::path root = fs::path(testing::TempDir()) / "allowed_files_test";
  fs::remove_all(root);
  fs::create_directories(root / "source/run");
  fs::create_directories(root / "away");
  std::ofstream(root / "away/secret") << "secret";
  std::ofstream(root / "source/run/a") << "a";
  fs::create_symlink(root / "away/secret", root / "source/run/out");
  fs::create_symlink(root / "source/run/a", root / "source/run/in");
  fs::create_directory_symlink(root / "away", root / "source/folder");
  fs::create_directory_symlink(root / "source", root / "moved");
  const AllowedFiles allowed({local(root / "moved")});
  EXPECT_TRUE(allowed.contains(local(root / "source/run")));
  EXPECT_TRUE(allowed.contains(local(root / "moved/run/in")));
  EXPECT_FALSE(allowed.contains(local(root / "source/run/out")));
  EXPECT_FALSE(allowed.contains(local(root / "source/folder")));
  EXPECT_FALSE(allowed.contains(local(root / "source/../away/secret")));
  EXPECT_TRUE(allowed.leads_out(local(root / "source/run/out")));
  EXPECT_FALSE(allowed.leads_out(local(root / "source/run/in")));
  fs::remove_all(root);
}

}  // namespace
}  // namespace headrace
