#include "headrace/prepare/extract.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

struct FakeFile {
  std::string path;
  Result<std::string> text;
};

// Files one after another.
class FakeSource final : public TextSource {
 public:
  explicit FakeSource(std::vector<FakeFile> files) : files_(std::move(files)) {}
  Result<std::optional<SourceEntry>> next() override {
    if (given_ == files_.size()) return std::optional<SourceEntry>();
    return std::optional(SourceEntry{.path = files_[given_++].path});
  }
  Result<bool> read_text(std::string& text, std::uint64_t limit_bytes) override {
    HEADRACE_TRY(text, Result<std::string>(files_[given_ - 1].text));
    return text.size() <= limit_bytes;
  }
  std::uint64_t consumed_bytes() const override { return given_; }
  std::uint64_t total_bytes() const override { return files_.size(); }

 private:
  const std::vector<FakeFile> files_;
  std::size_t given_ = 0;
};

// One file of each split and class, then `more`.
Result<Extracted> extract_with(const std::vector<FakeFile>& more, const ExtractOptions& options) {
  std::vector<FakeFile> files;
  for (const std::string folder : {"train/pos", "train/neg", "test/pos", "test/neg"})
    files.push_back({folder + "/0_0.txt", "the text of " + folder});
  files.insert(files.end(), more.begin(), more.end());
  FakeSource source(std::move(files));
  StoreRegistry stores{Environment{}};
  RecordSpool spool(*stores.open("memory://test/work"), 44, 2, 1 << 20);
  return extract(source, "the source", options, spool, [](auto...) {}, {});
}

TEST(Extract, ATextBeyondTheLimitIsRejectedAndAStoreWithoutMeansFails) {
  const ExtractOptions options{.max_text_bytes = 100, .max_rejects = 10};
  const auto rejected = extract_with({{"train/pos/1_9.txt", std::string(101, 'x')}}, options);
  ASSERT_TRUE(rejected) << rejected.error().message;
  EXPECT_EQ(rejected->counts.rejected, 1U);
  const Error exhausted{Code::kResourceExhausted, "too many open files"};
  const auto failed = extract_with({{"train/pos/1_9.txt", exhausted}}, options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, exhausted.message);
}

TEST(Extract, TheTextOfARejectedRecordIsNoDuplicatesFirst) {
  const auto extracted = extract_with({{"train/pos/0_0.txt", std::string("new")},  // its id occurred
                                       {"train/pos/1_9.txt", std::string("new")},
                                       {"train/pos/2_9.txt", std::string("new")}},
                                      {.drop_duplicates = true, .max_rejects = 1});
  ASSERT_TRUE(extracted) << extracted.error().message;
  EXPECT_EQ(extracted->counts.rejected, 1U);
  EXPECT_EQ(extracted->counts.written, 5U);
  EXPECT_EQ(extracted->counts.dropped, 1U);
}

}  // namespace
}  // namespace headrace
