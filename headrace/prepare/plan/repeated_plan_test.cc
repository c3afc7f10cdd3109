#include "headrace/prepare/plan/repeated_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/prepare/plan/published_dataset_test.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class RepeatedPlans : public PublishedDatasetTest {
 protected:
  RepeatedPlans() {
    for (const char* name : {"a", "b"}) put_table(name);
  }
  void put_table(const std::string& name, const std::string& number = "1") {
    put(concat("tables/", name, ".csv"), concat("n\n", number, "\n"));
  }

  // Plans and publishes all that lies in `input` and was not read before; returns the version.
  PublishedFolder make(const std::string& input = "tables", Continuation continuation = Continuation::kNone) {
    const auto planned = plan({.continuation = continuation}, input);
    EXPECT_TRUE(planned) << planned.error().message;
    const Configuration configuration = plan_configuration(planned->plan);
    std::string lines;
    for (const Slice& slice : planned->plan.input.slices) {
      for (const InputFile& file : slice.files)
        lines += read_line(file.url.substr(std::string_view("memory://test/").size()));
    }
    const bool is_first = continuation == Continuation::kNone;
    const auto action = is_first ? OwnershipAction::kBegin : OwnershipAction::kContinue;
    const std::uint64_t generation = is_first ? read_chain(output())->last + 1 : 1;
    const std::string tag = name_tag(configuration_digest(configuration), generation);
    add_part("inputs", concat("_headrace/inputs/", tag, "-00000.jsonl"), lines);
    return version(publish(configuration, action));
  }
  PublishedFolder version(std::uint64_t number) { return **read_published(output(), {.number = number}); }

  Result<RepeatedPlan> repeat(const PublishedFolder& of, const Versions& later = {}) {
    HEADRACE_TRY(const VersionOrigin origin, read_origin(of));
    return repeat_plan(of, origin, later, context_);
  }
  static std::string failure(const Result<RepeatedPlan>& repeated) {
    return repeated ? "none" : concat(code_name(repeated.error().code), " ", repeated.error().message);
  }
  static std::vector<std::string> urls(const Result<RepeatedPlan>& repeated) {
    if (!repeated) return {failure(repeated)};
    std::vector<std::string> out;
    for (const Slice& slice : repeated->planned.plan.input.slices) {
      for (const InputFile& file : slice.files) out.push_back(file.url.substr(20));
    }
    return out;
  }
};

TEST_F(RepeatedPlans, TheOriginOfAVersionIsItsPlanInItsGeneration) {
  const PublishedFolder first = make();
  const auto origin = read_origin(first);
  ASSERT_TRUE(origin) << origin.error().message;
  EXPECT_EQ(origin->configuration.at("input"), "memory://test/tables");
  EXPECT_EQ(origin->plan_digest, configuration_digest(origin->configuration));
  EXPECT_EQ(origin->generation, 1U);
  EXPECT_EQ(origin->tag(), origin->plan_digest.substr(0, 8));
  put_table("c");
  EXPECT_EQ(read_origin(make("tables", Continuation::kAppend))->generation, 1U) << "it continues the first";
}

TEST_F(RepeatedPlans, WithoutItsPlanAVersionHasNoOrigin) {
  PublishedFolder version = make();
  version.manifest.plan = std::string(64, 'd');
  const auto origin = read_origin(version);
  ASSERT_FALSE(origin);
  EXPECT_EQ(origin.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(origin.error().message, HasSubstr("the plan of version 2 of memory://test/out is missing"));
  version.manifest.entry = 0;
  EXPECT_EQ(read_origin(version).error().code, Code::kFailedPrecondition) << "there is no former claim";
}

TEST_F(RepeatedPlans, AVersionOfAnOlderHeadraceHasItsPlanInItsFormerClaim) {
  PublishedFolder version = make();
  const Configuration configuration = read_origin(version)->configuration;
  ASSERT_TRUE(write_text(*version.folder.store, version.folder.at(kPlanKey).key, Json(configuration).dump()));
  version.manifest.entry = 0;
  const auto origin = read_origin(version);
  ASSERT_TRUE(origin) << origin.error().message;
  EXPECT_EQ(origin->configuration, configuration);
  EXPECT_EQ(origin->generation, 0U);
}

TEST_F(RepeatedPlans, AnInputThatIsAsItWasIsPlannedAsItWas) {
  const PublishedFolder version = make();
  const auto repeated = repeat(version);
  EXPECT_THAT(urls(repeated), ElementsAre("/a.csv", "/b.csv"));
  EXPECT_EQ(plan_configuration(repeated->planned.plan), read_origin(version)->configuration);
  EXPECT_EQ(repeated->rewritten_inputs, "");
  EXPECT_EQ(repeated->planned.map, nullptr);
}

TEST_F(RepeatedPlans, WhatHasComeSinceIsPassedOver) {
  const PublishedFolder version = make();
  put_table("c");
  const auto repeated = repeat(version);
  EXPECT_THAT(urls(repeated), ElementsAre("/a.csv", "/b.csv"));
  EXPECT_EQ(repeated->rewritten_inputs, "");
  EXPECT_EQ(plan_configuration(repeated->planned.plan), read_origin(version)->configuration);
}

TEST_F(RepeatedPlans, WhatAVersionHasAddedIsPlannedAgainOnItsBase) {
  make();
  put_table("c");
  const PublishedFolder second = make("tables", Continuation::kAppend);
  put_table("d");
  const auto repeated = repeat(second);
  EXPECT_THAT(urls(repeated), ElementsAre("/c.csv"));
  EXPECT_EQ(repeated->planned.plan.base->number, 2U);
  EXPECT_EQ(repeated->planned.plan.pasts.size(), 1U);
}

TEST_F(RepeatedPlans, InputsThatAreGoneAreNamedThreeAtMost) {
  for (const char* name : {"c", "d", "e"}) put_table(name);
  const PublishedFolder version = make();
  const auto remove = [&](const std::string& name) {
    ASSERT_TRUE(remove_object(store(), concat("tables/", name, ".csv")));
  };
  remove("b");
  EXPECT_THAT(
      failure(repeat(version)),
      AllOf(
          HasSubstr("FAILED_PRECONDITION memory://test/tables has changed since it was read"),
          HasSubstr("the input memory://test/tables/b.csv has been removed since it was read: restore it")));
  for (const char* name : {"c", "d"}) remove(name);
  EXPECT_THAT(failure(repeat(version)),
              HasSubstr("the inputs memory://test/tables/b.csv, memory://test/tables/c.csv, "
                        "memory://test/tables/d.csv have been removed since they were read: restore them"));
  remove("e");
  EXPECT_THAT(failure(repeat(version)), HasSubstr("/tables/d.csv and 1 more have been removed since"));
  remove("a");
  EXPECT_THAT(
      failure(repeat(version)),
      HasSubstr("FAILED_PRECONDITION the input memory://test/tables has been removed since it was read"));
}

TEST_F(RepeatedPlans, AnInputOfAnotherSizeHasChangedAndOneOfTheSameIsToldToPeople) {
  const PublishedFolder version = make();
  put_table("b", "2");
  const auto rewritten = repeat(version);
  EXPECT_THAT(urls(rewritten), ElementsAre("/a.csv", "/b.csv"));
  EXPECT_EQ(rewritten->rewritten_inputs, "memory://test/tables/b.csv");
  put_table("b", "22");
  EXPECT_THAT(failure(repeat(version)),
              AllOf(HasSubstr("FAILED_PRECONDITION"),
                    HasSubstr("memory://test/tables/b.csv has changed since it was read")));
}

TEST_F(RepeatedPlans, WithoutItsRecordWhatLaterVersionsAddedIsPassedOver) {
  const PublishedFolder first = make();
  put_table("c");
  const PublishedFolder second = make("tables", Continuation::kAppend);
  ASSERT_TRUE(remove_object(store(), "out/" + first.manifest.parts.at(0).key));
  EXPECT_THAT(urls(repeat(first, {&second})), ElementsAre("/a.csv", "/b.csv"));
  EXPECT_THAT(failure(repeat(first)),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("has changed since it was read")));
  put_table("d");
  EXPECT_THAT(failure(repeat(first, {&second})), HasSubstr("has changed since it was read"))
      << "who added d?";
}

TEST_F(RepeatedPlans, ObjectsOfAFolderArePassedOverLikeFiles) {
  for (const char* key : {"images/train/cat/1.jpg", "images/train/dog/2.jpg"})
    put(key, std::string_view("x"));
  const auto planned = plan({.format = InputFormat::kImageFolder}, "images");
  ASSERT_TRUE(planned) << planned.error().message;
  const Configuration configuration = plan_configuration(planned->plan);
  const std::string tag = name_tag(configuration_digest(configuration), 1);
  add_part("inputs", concat("_headrace/inputs/", tag, "-00000.jsonl"),
           read_line("images/train/cat/1.jpg") + read_line("images/train/dog/2.jpg"));
  const PublishedFolder made = version(publish(configuration));
  put("images/train/cat/3.jpg", std::string_view("x"));
  const auto repeated = repeat(made);
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(repeated->planned.plan.input.objects, 2U);
  EXPECT_EQ(plan_configuration(repeated->planned.plan), configuration);
  ASSERT_TRUE(remove_object(store(), "images/train/cat/1.jpg"));
  EXPECT_THAT(failure(repeat(made)),
              HasSubstr("memory://test/images/train/cat/1.jpg has been removed since"));
}

TEST_F(RepeatedPlans, RowsFromAProgramAreNotThereForEver) {
  const std::string staged = "out/_headrace/staged";
  put(staged + "/a.csv", std::string_view("n\n1\n"));
  PreparePlan plan;
  plan.input = {.url = "memory://test/" + staged, .version = "v"};
  plan.schema = *parse_schema("[features.n]\ntype = 'int64'\n", "test");
  add_part("inputs", "_headrace/inputs/1", "");
  const PublishedFolder version = this->version(publish(plan_configuration(plan)));
  ASSERT_TRUE(remove_object(store(), staged + "/a.csv"));
  EXPECT_THAT(failure(repeat(version)),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("its rows came from a Python program")));
}

TEST_F(RepeatedPlans, EncodersMustBeThoseOfThePlan) {
  put("schema.toml", std::string_view("[features.a]\ntype = 'vector'\ncolumn = 'n'\nencoder = 'hash:8'\n"));
  const auto planned = plan({.schema_url = "memory://test/schema.toml"}, "tables");
  ASSERT_TRUE(planned) << planned.error().message;
  PreparePlan other = planned->plan;
  other.encoder_digests["hash:8"] = "another";
  add_part("inputs", "_headrace/inputs/1", "");
  EXPECT_THAT(failure(repeat(version(publish(plan_configuration(other))))),
              HasSubstr("FAILED_PRECONDITION the plan was made with weights of hash:8"));
  const auto repeated =
      repeat(version(publish(plan_configuration(planned->plan), OwnershipAction::kOverwrite)));
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_TRUE(repeated->planned.encoders.contains("hash:8"));
}

}  // namespace
}  // namespace headrace
