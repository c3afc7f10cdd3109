#include "headrace/prepare/source/input_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headrace/prepare/source/rejects.h"
#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/source/vector_input_test.h"

namespace headrace::input_kind_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class InputKindTest : public SourceTest {
 protected:
  Result<InputPlace> open(std::string_view url) { return open_input_place(url, stores_, kinds_); }
  Result<Input> find(std::string_view url, const InputRequest& request = {}) {
    HEADRACE_TRY(const InputPlace place, open(url));
    return find_input(place, request);
  }

  const VectorInputs vector_{{{"pets", {{{"a", "cat"}, {"b", "dog"}}, {{"c", "cow"}}}}}};
  const InputKind* const kinds_[2] = {&stored_input_kind(), &vector_};
};

TEST_F(InputKindTest, ASchemeNamesTheKind) {
  const auto place = open("vector://pets");
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->kind, &vector_);
  EXPECT_FALSE(place->location);
  EXPECT_EQ(place->describe(), "vector://pets");
  EXPECT_EQ(open("VECTOR://pets?a=b")->url, (Url{"vector", "pets", "", "a=b"}));
  EXPECT_EQ(open("memory://test/a")->kind, &stored_input_kind());
  EXPECT_EQ(open("stored://test/a").error().code, Code::kInvalidArgument);
  EXPECT_EQ(open_input_place("vector://pets", stores_).error().code, Code::kInvalidArgument);
  EXPECT_EQ(open("vector://u:secret@pets").error().message.find("secret"), std::string::npos);
}

TEST_F(InputKindTest, ANameIsOneOfAUrlAndNoStoresScheme) {
  const std::vector<std::string> schemes = StoreRegistry::schemes();
  for (const InputKind* kind : input_kinds()) {
    EXPECT_TRUE(parse_url(concat(kind->name(), "://host/a"), "/")) << kind->name();
    EXPECT_EQ(std::ranges::count(schemes, kind->name()), 0) << kind->name();
  }
}

TEST_F(InputKindTest, AMisspeltUrlIsNoPath) {
  const auto place = open("vector:/pets");
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("write vector://pets"));
}

TEST_F(InputKindTest, ItsSlicesGiveItsRows) {
  const auto input = find("vector://pets");
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input_name(*input), "vector");
  EXPECT_EQ(input->objects, 2U);
  EXPECT_EQ(input->size_bytes, 3U);
  std::vector<std::string> rows;
  for (const Slice& slice : input->slices) {
    EXPECT_FALSE(slice.is_range_of_folder());
    const RowsRead read = read_slice(*input, slice);
    EXPECT_TRUE(read.status) << read.status.error().message;
    rows.insert(rows.end(), read.rows.begin(), read.rows.end());
  }
  EXPECT_THAT(rows, ElementsAre("a text='cat'", "b text='dog'", "c text='cow'"));
  EXPECT_EQ(describe_row("c", input->slices[1], {.file = 0, .row = 1}), "c in vector://pets#1, row 1");
  EXPECT_EQ(base_of(input->slices[1], {.file = 0, .row = 1}), "");
}

TEST_F(InputKindTest, TheVersionChangesWithASlice) {
  const VectorInputs other{{{"pets", {{{"a", "cat"}, {"b", "dog"}}, {{"c", "cow"}, {"d", "emu"}}}}}};
  const auto version = [&](const InputKind& kind) {
    return find_input(InputPlace(kind, Url{"vector", "pets", ""}, {}), {})->version;
  };
  EXPECT_EQ(version(vector_), find("vector://pets")->version);
  EXPECT_NE(version(vector_), version(other));
}

TEST_F(InputKindTest, OnlyTheNamedSlicesAreTaken) {
  KnownInputs only;
  only.add("vector://pets#1", "v1");
  only.settle();
  const auto input = find("vector://pets", {.only = &only});
  ASSERT_TRUE(input) << input.error().message;
  ASSERT_THAT(input->slices, SizeIs(1));
  EXPECT_EQ(input->slices[0].name, "vector://pets#1");
  EXPECT_EQ(input->size_bytes, 1U);
}

TEST_F(InputKindTest, ErrorsNameTheInput) {
  EXPECT_EQ(find("vector://birds").error().code, Code::kNotFound);
  const auto named = find("vector://pets", {.format = InputFormat::kCsv});
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().message, HasSubstr("the format csv is for files"));
  Slice damaged = find("vector://pets")->slices[0];
  damaged.place = "no";
  EXPECT_EQ(open_slice(*find("vector://pets"), damaged, stores_).error().code, Code::kDataLoss);
  const InputPlace place = *open("vector://pets");
  EXPECT_EQ(input_of_slices(place, {Slice{.name = "a"}, Slice{.name = "a"}}, {}).error().code,
            Code::kInternal);
  EXPECT_EQ(input_of_slices(place, {Slice{}}, {}).error().code, Code::kInternal);
}

TEST_F(InputKindTest, NamesGiveFormatsAndKinds) {
  Input input;
  ASSERT_TRUE(set_input_name(input, "vector", kinds_));
  EXPECT_EQ(input.kind, &vector_);
  EXPECT_EQ(input.format, InputFormat::kRows);
  Input table;
  ASSERT_TRUE(set_input_name(table, "tsv", kinds_));
  EXPECT_EQ(table.kind, &stored_input_kind());
  EXPECT_EQ(table.format, InputFormat::kTsv);
  for (const char* name : {"rows", "stored", "vectors", ""})
    EXPECT_EQ(set_input_name(table, name, kinds_).error().code, Code::kInvalidArgument) << name;
  EXPECT_FALSE(set_input_name(table, "vector"));
}

}  // namespace
}  // namespace headrace::input_kind_test
