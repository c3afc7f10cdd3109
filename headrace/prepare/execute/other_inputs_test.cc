#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/configuration.h"
#include "headrace/prepare/execute/prepare.h"
#include "headrace/prepare/plan/plan_request.h"
#include "headrace/prepare/plan/repeated_plan.h"
#include "headrace/prepare/source/vector_input_test.h"
#include "headrace/stream/block_loader.h"
#include "headrace/track/published_folder.h"

namespace headrace::other_inputs_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<VectorRow>> table(std::size_t slices, std::size_t rows) {
  std::vector<std::vector<VectorRow>> out(slices);
  for (std::size_t slice = 0; slice < slices; ++slice) {
    for (std::size_t row = 0; row < rows; ++row)
      out[slice].emplace_back(concat("id ", slice, ".", row), concat("text ", slice * rows + row));
  }
  return out;
}

// Prepares vector://rows, a kind of input that is not in the list.
class OtherInputs : public testing::Test {
 protected:
  Location at(const std::string& key) { return *stores.open(concat("memory://test/", key)); }
  PlanningContext context(const InputKinds& kinds) {
    return {.stores = stores, .environment = environment, .kinds = kinds};
  }

  Result<PlannedPrepare> plan(const VectorInputs& vector, const std::string& output,
                              PlanRequest request = {}) {
    const InputKind* const kinds[] = {&stored_input_kind(), &vector};
    HEADRACE_TRY(const InputPlace place, open_input_place("vector://rows", stores, kinds));
    return plan_prepare(request, place, at(output), context(kinds));
  }

  Result<PrepareResult> run(const PlannedPrepare& planned, const std::string& output,
                            const PrepareOptions& options = {}) {
    return prepare(planned, stores, at(output), options, Actor{.command = "prepare", .run = "r"},
                   [](auto...) {}, {});
  }

  // The texts of all records, of all versions up to the last.
  std::multiset<std::string> texts(const std::string& output) {
    std::multiset<std::string> found;
    const auto dataset = Dataset::open(at(output), {});
    EXPECT_TRUE(dataset) << dataset.error().message;
    if (!dataset) return found;
    BlockLoader loader(**dataset, CorruptionPolicy::kFail, BufferPool::create());
    for (const DatasetBlock& block : (*dataset)->blocks()) {
      const auto loaded = *loader.load(block, {});
      for (std::uint64_t i = 0; i < loaded.record_count(); ++i) {
        const std::string record = to_string(loaded.data(i));
        found.insert(record.substr(record.find("text "),
                                   record.find_last_of("0123456789") + 1 - record.find("text ")));
      }
    }
    return found;
  }

  // The shards, by their names, as their checksums.
  std::map<std::string, std::uint32_t> shards(const std::string& output) {
    std::map<std::string, std::uint32_t> out;
    const auto published = read_published(at(output), "dataset");
    for (const ManifestPart& part : (*published)->manifest.parts) {
      if (part.role == "shard") out[part.key] = part.crc32c;
    }
    return out;
  }

  Environment environment;
  StoreRegistry stores{Environment{}};
};

TEST_F(OtherInputs, ArePlannedPreparedAndPublished) {
  const VectorInputs vector{{{"rows", table(5, 40)}}};
  PlanRequest request;
  request.options.shard_records = 30;
  const auto planned = plan(vector, "out", request);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->has_inferred_schema);
  EXPECT_EQ(planned->plan.input.slices.size(), 5U);
  const Configuration configuration = plan_configuration(planned->plan);
  EXPECT_EQ(configuration.at("layout"), "vector");
  EXPECT_EQ(configuration.at("input"), "vector://rows");
  const auto done = run(*planned, "out", {.workers = 4});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->attributes.counts.at("written"), 200U);
  ASSERT_TRUE(run(*planned, "alone", {.workers = 1, .memory_bytes = 0}));
  EXPECT_EQ(shards("out"), shards("alone"));
  std::multiset<std::string> expected;
  for (int i = 0; i < 200; ++i) expected.insert(concat("text ", i));
  EXPECT_EQ(texts("out"), expected);
  EXPECT_TRUE(run(*planned, "out")->was_published);
}

TEST_F(OtherInputs, APlanIsReadAgainWithItsKind) {
  const VectorInputs vector{{{"rows", table(2, 3)}}};
  const InputKind* const kinds[] = {&stored_input_kind(), &vector};
  const auto planned = plan(vector, "out");
  ASSERT_TRUE(planned) << planned.error().message;
  const Configuration configuration = plan_configuration(planned->plan);
  const auto slices = parse_slices(slices_to_json(planned->plan.input));
  const auto read = parse_plan(configuration, *slices, at("out"), kinds);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->input.kind, &vector);
  EXPECT_EQ(plan_configuration(*read), configuration);
  const auto rows = open_slice(read->input, read->input.slices[1], stores);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ((*(*rows)->next())->id, "id 1.0");
  EXPECT_THAT(parse_plan(configuration, {}, at("out")).error().message,
              HasSubstr("no input format \"vector\""));
}

TEST_F(OtherInputs, AnAppendReadsTheSlicesThatAreNew) {
  const VectorInputs before{{{"rows", table(2, 20)}}}, after{{{"rows", table(3, 20)}}};
  const auto first = plan(before, "out");
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(run(*first, "out"));
  const auto more = plan(after, "out", {.continuation = Continuation::kAppend});
  ASSERT_TRUE(more) << more.error().message;
  ASSERT_EQ(more->plan.input.slices.size(), 1U);
  EXPECT_EQ(more->plan.input.slices[0].name, "vector://rows#2");
  const auto done = run(*more, "out");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(texts("out").size(), 60U);
  const VectorInputs changed{{{"rows", table(3, 21)}}};
  const auto refused = plan(changed, "out", {.continuation = Continuation::kAppend});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("vector://rows#0 has changed since it was read"));
}

TEST_F(OtherInputs, AVersionIsPlannedAgainWithoutTheSlicesThatHaveComeSince) {
  const VectorInputs before{{{"rows", table(2, 20)}}}, after{{{"rows", table(3, 20)}}};
  const auto first = plan(before, "out");
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(run(*first, "out"));
  const auto version = read_published(at("out"), "dataset");
  ASSERT_TRUE(version && *version);
  const auto origin = read_origin(**version);
  ASSERT_TRUE(origin) << origin.error().message;
  const InputKind* const kinds[] = {&stored_input_kind(), &after};
  const auto repeated = repeat_plan(**version, *origin, {}, context(kinds));
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(repeated->planned.plan.input.slices.size(), 2U);
  EXPECT_EQ(plan_configuration(repeated->planned.plan), plan_configuration(first->plan));
}

TEST_F(OtherInputs, ARejectedRowIsToldWithItsSlice) {
  auto rows = table(2, 5);
  rows[1][3].first = rows[0][0].first;  // its id occurs twice
  const VectorInputs vector{{{"rows", rows}}};
  const auto planned = plan(vector, "out");
  ASSERT_TRUE(planned) << planned.error().message;
  const auto done = run(*planned, "out");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("vector://rows#"));
}

TEST_F(OtherInputs, AnOutputIsNeverPartOfThem) {
  const VectorInputs vector{{}};
  const InputPlace place(vector, Url{"memory", "test", ""}, {});
  EXPECT_TRUE(check_places(place, at("out")));
  EXPECT_FALSE(check_places(place, at("")));
}

}  // namespace
}  // namespace headrace::other_inputs_test
