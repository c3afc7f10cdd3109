#include "headrace/statistics/report_lines.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReportLines : public testing::Test {
 protected:
  void write(const std::string& key, std::string_view text) {
    const auto stored = gzip_compress(as_bytes(text), 6);
    ASSERT_TRUE(stored);
    ASSERT_TRUE(store->write(key, *stored, {}));
    published.manifest.parts.push_back({.key = key, .size_bytes = stored->size(), .role = "report"});
  }
  Status visit(std::vector<std::string>& lines) {
    return visit_report_lines(published, {}, [&](std::string_view line) -> Status {
      lines.emplace_back(line);
      return {};
    });
  }

  std::shared_ptr<Store> store = make_memory_store("test");
  PublishedFolder published{.folder = {store, "", Url{"memory", "test", ""}}};
};

TEST_F(ReportLines, AreThoseOfAllReportsInTheirOrder) {
  write("report-b", "1\n2\n");
  write("report-a", concat(std::string(200'000, 'x'), "\n"));
  published.manifest.parts.push_back({.key = "train-0", .role = "shard"});
  std::vector<std::string> lines;
  ASSERT_TRUE(visit(lines));
  EXPECT_THAT(lines, ElementsAre("1", "2", std::string(200'000, 'x')));
}

TEST_F(ReportLines, ThatAreCutOrTooLongAreDamage) {
  for (const std::string& text : {std::string("1\n2"), std::string(3 << 20, 'x')}) {
    published.manifest.parts.clear();
    write("report", text);
    std::vector<std::string> lines;
    const Status status = visit(lines);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    EXPECT_THAT(status.error().message, HasSubstr("report"));
  }
}

TEST_F(ReportLines, OfAnotherSizeThanTheManifestSaysAreDamage) {
  write("report", "1\n");
  ++published.manifest.parts.back().size_bytes;
  std::vector<std::string> lines;
  const Status status = visit(lines);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDataLoss);
  EXPECT_THAT(status.error().message, HasSubstr("bytes, but the manifest says"));
}

TEST_F(ReportLines, AreCountedByStatusAndReasonWithTheFirstAsExamples) {
  write("report", R"({"id":"a","status":"written"}
{"id":"b","status":"rejected","reason":"no image","detail":"column x","source":"file:///t.csv","row":3}
{"id":"c","status":"rejected","reason":"no image"}
{"id":"d","status":"changed","reason":"repaired"}
)");
  const auto summary = summarize_reports(published, 1, {});
  ASSERT_TRUE(summary) << summary.error().message;
  ASSERT_EQ(summary->size(), 2);
  const ReportedRows& rejected = summary->at({"rejected", "no image"});
  EXPECT_EQ(rejected.count, 2);
  ASSERT_EQ(rejected.examples.size(), 1);
  EXPECT_EQ(rejected.examples[0].id, "b");
  EXPECT_EQ(rejected.examples[0].detail, "column x");
  EXPECT_EQ(rejected.examples[0].row, 3);
}

TEST_F(ReportLines, ThatAreNoObjectsAreDamage) {
  write("report", "[1]\n");
  const auto summary = summarize_reports(published, 1, {});
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, Code::kDataLoss);
}

TEST_F(ReportLines, OfManyReasonsAreBounded) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += concat("{\"status\":\"rejected\",\"reason\":\"", i, "\"}\n");
  write("report", text);
  const auto summary = summarize_reports(published, 1, {});
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->size(), 200);
}

}  // namespace
}  // namespace headrace
