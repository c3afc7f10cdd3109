#include "headrace/prepare/plan/base_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/prepare/plan/published_dataset_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BaseDatasets : public PublishedDatasetTest {
 protected:
  std::shared_ptr<const BaseDataset> base() {
    publish({{"stage", "prepare 6"}}, OwnershipAction::kOverwrite);
    auto read = read_base(output(), Continuation::kAppend);
    EXPECT_TRUE(read) << read.error().message;
    return *std::move(read);
  }
  // A line of a report about a row of a file, or of an object of a folder if `source` is empty.
  static std::string line(const std::string& source, int row, const std::string& id,
                          const std::string& status, const std::string& reason = "") {
    return concat(R"({"source":")", source, R"(","row":)", row, R"(,"id":")", id, R"(","status":")", status,
                  R"(","reason":")", reason, "\"}\n");
  }
  // All that the parts record as read, or the error.
  std::vector<std::string> inputs(const Manifest& manifest) {
    std::vector<std::string> out;
    const Status read = read_inputs(output(), manifest, [&](const ReadInput& input) {
      out.push_back(concat(input.url, " ", input.size_bytes, " ", input.version));
    });
    if (!read) out = {concat(code_name(read.error().code), " ", read.error().message)};
    return out;
  }
  static std::vector<std::string> urls(const Input& input) {
    std::vector<std::string> out;
    for (const Slice& slice : input.slices) {
      std::string urls_of_slice;
      for (const InputFile& file : slice.files) urls_of_slice += file.url.substr(20) + " ";
      out.push_back(urls_of_slice);
    }
    return out;
  }
  void put_tables() {
    for (const char* name : {"a", "b", "c", "d"})
      put(concat("tables/", name, ".csv"), concat("n\n", name, "\n"));
  }
  // Objects of a folder that are rows, each in a slice.
  Input folder() {
    for (const char* key : {"in/cat/a.jpg", "in/cat/b.jpg", "in/dog/c.jpg"}) put(key, std::string_view("x"));
    auto found = find("in", InputFormat::kImageFolder, {.objects = 1});
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->slices.size(), 3U);
    return *std::move(found);
  }
};

TEST_F(BaseDatasets, ContinuationsHaveTheNamesOfTheirOptions) {
  EXPECT_EQ(continuation_name(Continuation::kNone), "");
  EXPECT_EQ(continuation_name(Continuation::kAppend), "append");
  EXPECT_EQ(continuation_name(Continuation::kRetryFailed), "retry-failed");
}

TEST_F(BaseDatasets, IsTheLatestManifestOrTheOneThatIsNamed) {
  const auto none = read_base(output(), Continuation::kAppend);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(none.error().message,
              HasSubstr("no dataset is published at memory://test/out: prepare it first, without --append"));
  add_part("inputs", "_headrace/inputs/1", "");
  const std::uint64_t first = publish({{"stage", "prepare 6"}});
  add_part("report", "_headrace/report/1", "");
  const std::uint64_t second = publish({{"stage", "prepare 6"}}, OwnershipAction::kContinue);
  const auto latest = read_base(output(), Continuation::kAppend);
  ASSERT_TRUE(latest) << latest.error().message;
  EXPECT_EQ((*latest)->number, second);
  EXPECT_EQ((*latest)->manifest.parts.size(), 2U);
  EXPECT_EQ((*latest)->attributes.seed, 17U);
  const auto object = read_number(output(), second);
  EXPECT_EQ((*latest)->digest, sha256_hex((*object)->data));
  const auto former = read_base(output(), Continuation::kAppend, first);
  EXPECT_EQ((*former)->number, first);
  EXPECT_EQ((*former)->manifest.parts.size(), 1U);
}

TEST_F(BaseDatasets, WithoutARecordOfItsInputsItIsNotContinued) {
  add_part("report", "_headrace/report/1", "");
  publish({{"stage", "prepare 6"}});
  const auto read = read_base(output(), Continuation::kAppend);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(read.error().message, HasSubstr("published without a record of its inputs"));
}

TEST_F(BaseDatasets, WhatWasReadIsListedInTheOrderOfTheParts) {
  add_part("inputs", "_headrace/inputs/2",
           R"({"url":"u1","size_bytes":5,"version":"v1"})"
           "\n"
           R"({"url":"u2","size_bytes":"six","version":7})"
           "\n");
  add_part("report", "_headrace/report/1", line("u9", 1, "", "rejected"));
  add_part("inputs", "_headrace/inputs/1",
           R"({"url":"u0","size_bytes":9,"version":"v0"})"
           "\n");
  const auto read = base();
  EXPECT_THAT(inputs(read->manifest), ElementsAre("u1 5 v1", "u2 0 ", "u0 9 v0"));
}

TEST_F(BaseDatasets, ADamagedRecordIsNamed) {
  add_part("inputs", "_headrace/inputs/1", "no object\n");
  EXPECT_THAT(inputs(base()->manifest),
              ElementsAre(AllOf(HasSubstr("DATA_LOSS the inputs of memory://test/out is damaged at"),
                                HasSubstr("_headrace/inputs/1"))));
  put("out/_headrace/inputs/1", std::string_view("{}\n"));
  EXPECT_THAT(inputs(base()->manifest),
              ElementsAre(HasSubstr(
                  "DATA_LOSS memory://test/out/_headrace/inputs/1 has 3 bytes, but the manifest says 10")));
  ASSERT_TRUE(remove_object(store(), "out/_headrace/inputs/1"));
  EXPECT_THAT(inputs(base()->manifest), ElementsAre(HasSubstr("NOT_FOUND")));
}

TEST_F(BaseDatasets, AnAppendLeavesTheFilesThatWereNotRead) {
  put_tables();
  add_part("inputs", "_headrace/inputs/1", read_line("tables/a.csv") + read_line("tables/c.csv"));
  const auto published = base();
  Input input = *find("tables", InputFormat::kCsv, {.size_bytes = 8});
  ASSERT_THAT(urls(input), ElementsAre("/a.csv /b.csv ", "/c.csv /d.csv "));
  auto pasts = leave_what_continues(input, *published, output(), Continuation::kAppend);
  ASSERT_TRUE(pasts) << pasts.error().message;
  EXPECT_THAT(urls(input), ElementsAre("/b.csv ", "/d.csv "));
  EXPECT_EQ(pasts->size(), 2U);
  EXPECT_EQ(input.objects, 2U);
  EXPECT_EQ(input.size_bytes, 8U);
  EXPECT_EQ(input.slices[1].objects, 1U);
  EXPECT_EQ(input.slices[1].size_bytes, 4U);
  add_part("inputs", "_headrace/inputs/2", read_line("tables/b.csv") + read_line("tables/d.csv"));
  Input read = *find("tables", InputFormat::kCsv);
  pasts = leave_what_continues(read, *base(), output(), Continuation::kAppend);
  ASSERT_TRUE(pasts) << pasts.error().message;
  EXPECT_THAT(urls(read), IsEmpty());
  EXPECT_THAT(*pasts, IsEmpty());
  EXPECT_EQ(read.objects, 0U);
  EXPECT_EQ(read.size_bytes, 0U);
}

TEST_F(BaseDatasets, AnInputHasSomethingNewUnlessAFileHasChanged) {
  put_tables();
  add_part("inputs", "_headrace/inputs/1", read_line("tables/a.csv") + read_line("tables/c.csv"));
  const auto published = base();
  using Match = KnownInputs::Match;
  const auto compared = [&](const std::string& key) {
    const auto match = compare_with_base(*find(key, InputFormat::kCsv), at(key), *published, output());
    EXPECT_TRUE(match) << match.error().message;
    return *match;
  };
  EXPECT_EQ(compared("tables"), Match::kNew);
  EXPECT_EQ(compared("tables/b.csv"), Match::kNew);
  EXPECT_EQ(compared("tables/a.csv"), Match::kSame);
  put("tables/c.csv", std::string_view("n\nother\n"));
  EXPECT_EQ(compared("tables"), Match::kChanged);
  EXPECT_EQ(compared("tables/c.csv"), Match::kChanged);
}

TEST_F(BaseDatasets, AFileThatHasChangedIsNotContinued) {
  put_tables();
  const std::string report = line("memory://test/tables/b.csv", 1, "", "rejected", "bad");
  add_part("inputs", "_headrace/inputs/1", read_line("tables/a.csv") + read_line("tables/b.csv"));
  add_part("report", "_headrace/report/1", report);
  put("tables/b.csv", std::string_view("n\n5\n6\n"));
  const auto published = base();
  for (const Continuation continuation : {Continuation::kAppend, Continuation::kRetryFailed}) {
    Input input = *find("tables", InputFormat::kCsv);
    const auto pasts = leave_what_continues(input, *published, output(), continuation);
    ASSERT_FALSE(pasts);
    EXPECT_EQ(pasts.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(pasts.error().message, HasSubstr("memory://test/tables/b.csv"));
  }
}

TEST_F(BaseDatasets, ARetryLeavesTheFilesWithRejectedRows) {
  put_tables();
  const std::string folder = "memory://test/tables/";
  add_part("inputs", "_headrace/inputs/1",
           read_line("tables/a.csv") + read_line("tables/b.csv") + read_line("tables/c.csv"));
  add_part("report", "_headrace/report/1",
           line(folder + "a.csv", 1, "x", "duplicate", "kept") +
               line(folder + "b.csv", 2, "x", "rejected", "bad") +
               line(folder + "c.csv", 3, "x", "rejected", "bad"));
  add_part("report", "_headrace/report/2", line(folder + "c.csv", 3, "x", "written"));
  Input input = *find("tables", InputFormat::kCsv, {.size_bytes = 8});
  const auto pasts = leave_what_continues(input, *base(), output(), Continuation::kRetryFailed);
  ASSERT_TRUE(pasts) << pasts.error().message;
  ASSERT_THAT(urls(input), ElementsAre("/b.csv ", "/c.csv "));
  ASSERT_EQ(pasts->size(), 2U);
  const std::string* const reason = pasts->at(0)->rejected.find({folder + "b.csv", 2, ""});
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(*reason, "bad");
  EXPECT_EQ(pasts->at(0)->rejected.find({folder + "b.csv", 1, ""}), nullptr);
  EXPECT_TRUE(pasts->at(1)->rejected.is_empty()) << "its row was written later";
}

TEST_F(BaseDatasets, ARetryOfFilesWithoutRejectedRowsNeedsTheOthers) {
  put_tables();
  const std::string report = line("memory://test/elsewhere.csv", 2, "x", "rejected", "bad");
  add_part("inputs", "_headrace/inputs/1", read_line("tables/a.csv"));
  add_part("report", "_headrace/report/1", report);
  Input input = *find("tables", InputFormat::kCsv);
  const auto pasts = leave_what_continues(input, *base(), output(), Continuation::kRetryFailed);
  ASSERT_FALSE(pasts);
  EXPECT_EQ(pasts.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(pasts.error().message,
              HasSubstr("no file of memory://test/tables has rows that were rejected, but other files have"));
  add_part("report", "_headrace/report/2", line("memory://test/elsewhere.csv", 2, "x", "written"));
  input = *find("tables", InputFormat::kCsv);
  const auto nothing = leave_what_continues(input, *base(), output(), Continuation::kRetryFailed);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_THAT(*nothing, IsEmpty());
}

TEST_F(BaseDatasets, AnAppendKeepsAFoldersSlicesAndKnowsTheirObjects) {
  Input input = folder();
  add_part("inputs", "_headrace/inputs/1",
           read_line("in/cat/a.jpg") + read_line("in/dog/c.jpg") +
               R"({"url":"memory://other/dog/c.jpg","size_bytes":1,"version":"v"})" + "\n" +
               R"({"url":"memory://test/in/zebra.jpg","size_bytes":1,"version":"v"})" + "\n");
  add_part("report", "_headrace/report/1", line("", 0, "cat/a.jpg", "rejected", "bad"));
  const auto pasts = leave_what_continues(input, *base(), output(), Continuation::kAppend);
  ASSERT_TRUE(pasts) << pasts.error().message;
  EXPECT_EQ(input.slices.size(), 3U);
  ASSERT_EQ(pasts->size(), 3U);
  const auto version = [&](const std::string& key) { return store().stat(key, {})->version.token; };
  const KnownInputs& first = pasts->at(0)->inputs;
  EXPECT_EQ(first.look("memory://test/in/cat/a.jpg", version("in/cat/a.jpg")), KnownInputs::Match::kSame);
  EXPECT_EQ(first.hashes().size(), 1U);
  EXPECT_THAT(pasts->at(1)->inputs.hashes(), IsEmpty());
  EXPECT_EQ(pasts->at(2)->inputs.hashes().size(), 1U);
  EXPECT_TRUE(pasts->at(2)->inputs.has("memory://test/in/dog/c.jpg"));
  EXPECT_TRUE(pasts->at(0)->rejected.is_empty()) << "only a retry asks for rejected rows";
}

TEST_F(BaseDatasets, ARetryOfAFolderKnowsTheRejectedRowsOfEachSlice) {
  Input input = folder();
  add_part("inputs", "_headrace/inputs/1", read_line("in/cat/a.jpg"));
  add_part("report", "_headrace/report/1",
           line("", 0, "cat/b.jpg", "rejected", "bad") + line("", 0, "zebra.jpg", "rejected", "bad") +
               line("", 0, "", "rejected", "bad") +
               line("", 0, "dog/\xEF\xBF\xBD.jpg", "rejected", "no such place"));
  const auto pasts = leave_what_continues(input, *base(), output(), Continuation::kRetryFailed);
  ASSERT_TRUE(pasts) << pasts.error().message;
  ASSERT_EQ(pasts->size(), 3U);
  const auto has = [&](std::size_t slice, std::string_view id) {
    return pasts->at(slice)->rejected.find({"", 0, id}) != nullptr;
  };
  EXPECT_FALSE(has(0, "cat/b.jpg"));
  EXPECT_TRUE(has(1, "cat/b.jpg"));
  EXPECT_FALSE(has(2, "cat/b.jpg"));
  for (const std::size_t slice : {0, 1, 2}) {
    EXPECT_TRUE(has(slice, "dog/\xEF\xBF\xBD.jpg")) << "the key that the report repairs may be in any slice";
    EXPECT_FALSE(has(slice, "zebra.jpg") || has(slice, ""));
  }
  EXPECT_THAT(pasts->at(0)->inputs.hashes(), IsEmpty());
}

}  // namespace
}  // namespace headrace
