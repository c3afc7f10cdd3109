#include "headrace/serve/configuration/serving_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Status check_place(const std::string& place) {
  if (place.starts_with("s3://")) return {};
  return Error{Code::kInvalidArgument, "no URL"};
}

Result<ServingConfiguration> parse(std::string_view text) {
  return parse_serving_configuration(text, "serving.toml", {.lanes = 2}, check_place);
}

std::string problem_of(std::string_view text) {
  const auto parsed = parse(text);
  return parsed ? "" : parsed.error().message;
}

// In a model, on line 3.
std::string problem_of_line(std::string_view line) {
  return problem_of(concat("[models.m]\nplace = \"s3://b/m\"\n", line));
}
std::string problem_of_canary(std::string_view lines) {
  return problem_of(concat("[models.m]\nplace = \"s3://b/m\"\n[models.m.canary]\n", lines));
}

TEST(ServingConfiguration, ModelsHaveTheirPlacesLimitsAndCanaries) {
  const auto parsed = parse(R"(
record = "s3://b/track"
[models.imdb]
place = "s3://b/models/imdb"
versions = "latest:2"
batch-rows = 32
batch-sizes = [1, 8]
lanes = 4
queue-rows = 100
deadline = "2s"
[models.imdb.canary]
version = "candidate"
weight = 0.5
sticky-header = "X-User"
max-error-rate = 0.02
max-latency = "200ms"
window = "5m"
min-requests = 50
[models.imdb.shadow]
version = 9
fraction = 10
tolerance = 1e-6

[models."other one"]
place = "s3://b/other"
canary = { version = "17", weight = 100 }
)");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->record, "s3://b/track");
  const ModelConfiguration& imdb = parsed->models.at("imdb");
  EXPECT_EQ(imdb.place, "s3://b/models/imdb");
  EXPECT_EQ(imdb.versions.latest, 2U);
  EXPECT_THAT(imdb.batching().allowed_rows, ElementsAre(1, 8, 32));
  EXPECT_EQ(imdb.batching().rows_max, 32U);
  EXPECT_EQ(imdb.batching().lanes, 4U);
  EXPECT_EQ(imdb.batching().waiting_rows_max, 100U);
  EXPECT_EQ(imdb.deadline, milliseconds(2'000));
  EXPECT_EQ(*imdb.canary, (CanaryOptions{.version = std::string("candidate"),
                                         .weight = 50,
                                         .sticky_header = "X-User",
                                         .max_error_rate = 0.02,
                                         .max_latency = milliseconds(200),
                                         .window = std::chrono::minutes(5),
                                         .min_requests = 50}));
  EXPECT_EQ(*imdb.shadow, (ShadowOptions{.version = 9U, .fraction = 1'000, .tolerance = 1e-6}));
  const ModelConfiguration& other = parsed->models.at("other one");
  EXPECT_EQ(other.lanes, 2U) << "the default";
  EXPECT_EQ(other.canary->version, VersionName(17U));
}

TEST(ServingConfiguration, WhatIsWrongIsNamedWithItsLineAndWhatIsAllowed) {
  EXPECT_THAT(problem_of("[models.m"), StartsWith("serving.toml, line 1: "));
  EXPECT_THAT(problem_of("[model.m]\nplace = \"s3://b/m\""),
              StartsWith("serving.toml, line 1: model is not known here; did you mean models?"));
  EXPECT_THAT(problem_of("[models.m]\nlanes = 1"),
              StartsWith("serving.toml, line 1: [models.m]: place is missing"));
  EXPECT_THAT(problem_of("[models.m]\nplace = \"x\""),
              HasSubstr("line 2: [models.m]: place cannot be used: no URL"));
  EXPECT_THAT(problem_of("record = \"x\"\n[models.m]\nplace = \"s3://b/m\""),
              StartsWith("serving.toml, line 1: record cannot be used: no URL"));
  EXPECT_THAT(problem_of("[models]\nm = 5"), HasSubstr("line 2: [models.m] must be a table"));
  EXPECT_THAT(problem_of("[models.\"a/b\"]\nplace = \"s3://b/m\""),
              HasSubstr("line 1: models.a/b a model's name"));
  const std::string at = "serving.toml, line 3: [models.m]: ";
  EXPECT_EQ(problem_of_line("lane = 3"), at + "lane is not known here; did you mean lanes?");
  EXPECT_EQ(problem_of_line("lanes = 0"), at + "lanes must be a whole number from 1 to 256");
  EXPECT_EQ(problem_of_line("lanes = \"2\""), at + "lanes must be a whole number from 1 to 256");
  EXPECT_THAT(problem_of_line("versions = \"few\""),
              StartsWith(at + "versions is few; it must be default, latest:N, all"));
  EXPECT_EQ(problem_of_line("versions = 3"),
            at + "versions must be a text: default, latest:N, all, or numbers as in 3,5");
  EXPECT_THAT(problem_of_line("versions = \"latest:0\""), StartsWith(at + "versions "));
  EXPECT_THAT(problem_of_line("deadline = \"soon\""), StartsWith(at + "deadline must be a time"));
  EXPECT_THAT(problem_of_line("batch-sizes = [8, 1]"), HasSubstr("batch-sizes do not fit"));
  EXPECT_THAT(problem_of_line("batch-sizes = [1, 0]"), StartsWith(at + "batch-sizes must be a list"));
  EXPECT_THAT(problem_of_line("canary = 5"), HasSubstr("line 3: [models.m.canary] must be a table"));
}

TEST(ServingConfiguration, WhatIsWrongInACanaryIsNamed) {
  const std::string at = "serving.toml, line 4: [models.m.canary]: ";
  EXPECT_THAT(problem_of_canary("weight = 5"), HasSubstr("version is missing"));
  EXPECT_THAT(problem_of_canary("version = 5"), HasSubstr("weight is missing"));
  EXPECT_THAT(problem_of_canary("version = -5\nweight = 5"), StartsWith(at + "version must be a number"));
  EXPECT_THAT(problem_of_canary("weight = 101\nversion = 5"),
              StartsWith(at + "weight must be a percentage from 0 to 100"));
  EXPECT_THAT(problem_of_canary("weight = nan\nversion = 5"),
              StartsWith(at + "weight must be a percentage from 0 to 100"));
  EXPECT_THAT(problem_of_canary("max-error-rate = 2\nversion = 5\nweight = 1"),
              StartsWith(at + "max-error-rate must be a number from 0 to 1"));
  EXPECT_THAT(problem_of_canary("weight = 0.004\nversion = 5"),
              StartsWith(at + "weight must be 0, or at least 0.01 percent"));
  EXPECT_THAT(problem_of_canary("max-latency = 200\nversion = 5\nweight = 1"),
              StartsWith(at + "max-latency must be a time up to 24h"));
  EXPECT_THAT(problem_of_canary("wait = 5\nversion = 5\nweight = 1"),
              StartsWith(at + "wait is not known here"));
}

TEST(ServingConfiguration, WhatIsWrongInAShadowIsNamed) {
  const auto problem = [](std::string_view lines) {
    return problem_of(concat("[models.m]\nplace = \"s3://b/m\"\n[models.m.shadow]\n", lines));
  };
  EXPECT_THAT(problem("version = 5"), HasSubstr("line 3: [models.m.shadow]: fraction is missing"));
  EXPECT_THAT(problem("tolerance = -1\nversion = 5\nfraction = 1"),
              HasSubstr("tolerance must be a number that is not negative"));
  EXPECT_THAT(problem("weight = 1\nversion = 5\nfraction = 1"),
              HasSubstr("line 4: [models.m.shadow]: weight is not"));
}

TEST(ServingConfiguration, AFileWithoutModelsIsWrong) {
  for (const char* text : {"", "# nothing\n", "[models]\n", "models = 5"})
    EXPECT_THAT(problem_of(text), HasSubstr("no model")) << text;
}

TEST(ServingConfiguration, OnlyWhatIsLoadedOtherwiseIsLoadedAnew) {
  const ModelConfiguration model{.place = "s3://b/m"};
  ModelConfiguration other = model;
  other.deadline = milliseconds(5);
  other.canary = CanaryOptions{.version = 3U, .weight = 5};
  other.shadow = ShadowOptions{.version = 3U, .fraction = 5};
  EXPECT_NE(model, other);
  EXPECT_TRUE(other.loads_as(model));
  other.lanes = 2;
  EXPECT_FALSE(other.loads_as(model));
}

}  // namespace
}  // namespace headrace
