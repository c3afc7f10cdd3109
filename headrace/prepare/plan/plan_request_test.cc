#include "headrace/prepare/plan/plan_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/engine/encoder.h"
#include "headrace/prepare/plan/published_dataset_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class PlanRequests : public PublishedDatasetTest {
 protected:
  PlanRequests() { put("in.csv", std::string_view("label,n\ncat,1\ndog,2\n")); }

  // A plan of in.csv with this schema in a file.
  Result<PlannedPrepare> plan_with(std::string_view schema, PlanRequest request = {}) {
    put("schema.toml", schema);
    request.schema_url = "memory://test/schema.toml";
    return plan(request, "in.csv");
  }
  static std::string failure(const Result<PlannedPrepare>& planned) {
    return planned ? "none" : concat(code_name(planned.error().code), " ", planned.error().message);
  }
};

std::vector<std::string> feature_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const FeatureDefinition& feature : schema.features) names.push_back(feature.name);
  return names;
}

TEST_F(PlanRequests, WithoutFormatAndSchemaBothAreFoundInTheInput) {
  const auto planned = plan({}, "in.csv");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->plan.input.format, InputFormat::kCsv);
  EXPECT_EQ(planned->plan.input.url, "memory://test/in.csv");
  EXPECT_TRUE(planned->has_inferred_schema);
  EXPECT_THAT(feature_names(planned->plan.schema), ElementsAre("label", "n"));
  EXPECT_EQ(planned->map, nullptr);
  EXPECT_EQ(planned->plan.base, nullptr);
  put("notes.txt", std::string_view("text"));
  EXPECT_THAT(failure(plan({}, "notes.txt")), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(failure(plan({}, "none.csv")), HasSubstr("NOT_FOUND"));
}

TEST_F(PlanRequests, TheSchemaThatIsInferredCarriesHowCellsAreRead) {
  put("in.csv", std::string_view("n\n1\nNA\n2\n"));
  const auto without = plan({}, "in.csv");
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_THAT(without->remarks, ElementsAre(HasSubstr("--missing NA")));
  const auto with = plan({.cells = {.missing = {"NA"}}}, "in.csv");
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_THAT(with->remarks, testing::IsEmpty());
  EXPECT_THAT(with->plan.schema.cells.missing, ElementsAre("NA"));
  EXPECT_EQ(with->plan.schema.features.front().type, SchemaType::kInt64);
}

TEST_F(PlanRequests, AFormatThatIsNamedIsNotGuessed) {
  put("table", std::string_view("n\n1\n"));
  const auto planned = plan({.format = InputFormat::kTsv}, "table");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->plan.input.format, InputFormat::kTsv);
}

TEST_F(PlanRequests, ASchemaComesFromAFile) {
  const auto planned = plan_with("[features.n]\ntype = 'float32'\n");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_FALSE(planned->has_inferred_schema);
  ASSERT_THAT(feature_names(planned->plan.schema), ElementsAre("n"));
  EXPECT_EQ(planned->plan.schema.features[0].type, SchemaType::kFloat32);
  EXPECT_THAT(failure(plan_with("[features.n]\ntype = 'float33'\n")),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("memory://test/schema.toml")));
  EXPECT_THAT(failure(plan({.schema_url = "memory://test/none.toml"}, "in.csv")),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("reading the schema")));
}

TEST_F(PlanRequests, AVocabularyIsReadFromAFileWithAValueInEachLine) {
  constexpr std::string_view kSchema =
      "[features.label]\ntype = 'label'\nvocabulary = 'memory://test/classes'\n"
      "[features.n]\ntype = 'int64'\n";
  put("classes", std::string_view("\n dog\r\n\n  \ncat \nbig cat"));
  const auto planned = plan_with(kSchema);
  ASSERT_TRUE(planned) << planned.error().message;
  const FeatureDefinition& label = planned->plan.schema.features.at(0);
  EXPECT_THAT(label.vocabulary, ElementsAre("dog", "cat", "big cat"));
  EXPECT_EQ(label.vocabulary_url, "") << "the plan has the values themselves";

  put("classes", std::string_view("dog\ncat\n dog\n"));
  EXPECT_THAT(failure(plan_with(kSchema)),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("memory://test/classes has \"dog\" twice")));
  put("classes", std::string_view(" \n\n"));
  EXPECT_THAT(failure(plan_with(kSchema)),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("memory://test/classes is empty")));
  ASSERT_TRUE(remove_object(store(), "classes"));
  EXPECT_THAT(failure(plan_with(kSchema)),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("reading the vocabulary of label")));
}

TEST_F(PlanRequests, SplitsReplaceThoseOfTheSchema) {
  constexpr std::string_view kShares = "[splits]\ntrain = 0.5\ntest = 0.5\n[features.n]\ntype = 'int64'\n";
  const auto kept = plan_with(kShares);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(kept->plan.schema.splits, ElementsAre(Pair("test", 0.5), Pair("train", 0.5)));
  const std::vector<std::pair<std::string, double>> shares = {{"test", 0.25}, {"train", 0.75}};
  EXPECT_EQ(plan_with(kShares, {.splits = shares})->plan.schema.splits, shares);
  constexpr std::string_view kColumn = "split = 'label'\n[features.n]\ntype = 'int64'\n";
  EXPECT_EQ(plan_with(kColumn)->plan.schema.split, "label");
  const auto replaced = plan_with(kColumn, {.splits = shares});
  EXPECT_EQ(replaced->plan.schema.splits, shares);
  EXPECT_EQ(replaced->plan.schema.split, std::nullopt);
  EXPECT_EQ(replaced->replaced_splits, "column label");
  EXPECT_EQ(plan_with(kColumn)->replaced_splits, "");
  EXPECT_EQ(plan_with(kShares, {.splits = shares})->replaced_splits, "");
}

TEST_F(PlanRequests, SplitsReplaceFoldersOfSplitsOnlyIfThereAreAny) {
  const PlanRequest request{.format = InputFormat::kImageFolder, .splits = {{"test", 0.25}, {"train", 0.75}}};
  put("plain/cat/1.jpg", std::string_view("x"));
  EXPECT_EQ(plan(request, "plain")->replaced_splits, "");
  put("split/readme.txt", std::string_view("x"));
  put("split/test/cat/1.jpg", std::string_view("x"));
  EXPECT_EQ(plan(request, "split")->replaced_splits, "folders of splits");
  EXPECT_EQ(plan({.format = InputFormat::kImageFolder}, "split")->replaced_splits, "");
}

TEST_F(PlanRequests, AnInferredImageIsConvertedAsAsked) {
  put("images.csv", std::string_view("image_uri,n\na.jpg,1\n"));
  PlanRequest request;
  request.layout.image.output = ImageOutput::kRawBase64;
  const auto planned = plan(request, "images.csv");
  ASSERT_TRUE(planned) << planned.error().message;
  const std::vector<FeatureDefinition>& features = planned->plan.schema.features;
  ASSERT_EQ(features.size(), 2U);
  EXPECT_EQ(features[0].type, SchemaType::kImage);
  EXPECT_EQ(features[0].image.output, ImageOutput::kRawBase64);
  EXPECT_EQ(features[1].image.output, ImageOutput::kAsIs) << "it is not an image";
}

TEST_F(PlanRequests, RecordsInTfRecordersLayoutDescribeTheImage) {
  put("images.csv", std::string_view("split,image_uri,label\nTRAIN,a.jpg,cat\nTEST,b.jpg,dog\n"));
  EXPECT_THAT(feature_names(plan({}, "images.csv")->plan.schema), ElementsAre("image", "label"));
  const auto planned = plan({.in_tfrecorder_layout = true}, "images.csv");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_THAT(
      feature_names(planned->plan.schema),
      ElementsAre("image", "image_channels", "image_height", "image_name", "image_width", "label", "split"));
  put("two.csv", std::string_view("a_uri,b_uri\na.jpg,b.jpg\n"));
  EXPECT_THAT(failure(plan({.in_tfrecorder_layout = true}, "two.csv")),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("records with one image")));
}

TEST_F(PlanRequests, ALayoutHasItsOwnSchemaUnlessAFileNamesOne) {
  put("texts/train/neg/1.txt", std::string_view("bad"));
  put("texts/train/pos/2.txt", std::string_view("good"));
  const PlanRequest request{.format = InputFormat::kAclImdb, .layout = {.encoder = "hash:8"}};
  const auto planned = plan(request, "texts");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_FALSE(planned->has_inferred_schema);
  EXPECT_THAT(feature_names(planned->plan.schema), ElementsAre("id", "label", "sentence", "text"));
  PlanRequest with_file = request;
  put("schema.toml", std::string_view("[features.text]\ntype = 'string'\n"));
  with_file.schema_url = "memory://test/schema.toml";
  EXPECT_THAT(feature_names(plan(with_file, "texts")->plan.schema), ElementsAre("text"));
}

TEST_F(PlanRequests, EncodersAreLoadedAndTheirWeightsAreInThePlan) {
  constexpr std::string_view kSchema =
      "[features.a]\ntype = 'vector'\ncolumn = 'label'\nencoder = 'hash:8'\n"
      "[features.b]\ntype = 'vector'\ncolumn = 'label'\nencoder = 'hash:16'\n"
      "[features.c]\ntype = 'vector'\ncolumn = 'n'\nencoder = 'hash:8'\n"
      "[features.n]\ntype = 'int64'\n";
  const auto planned = plan_with(kSchema);
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_EQ(planned->encoders.size(), 2U);
  EXPECT_EQ(planned->encoders.at("hash:8")->dimension(), 8);
  EXPECT_EQ(planned->encoders.at("hash:16")->dimension(), 16);
  EXPECT_THAT(planned->plan.encoder_digests,
              ElementsAre(Pair("hash:16", planned->encoders.at("hash:16")->weights_digest()),
                          Pair("hash:8", planned->encoders.at("hash:8")->weights_digest())));
  EXPECT_THAT(failure(plan_with("[features.a]\ntype = 'vector'\ncolumn = 'n'\nencoder = 'none'\n")),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("no encoder \"none\"")));
}

TEST_F(PlanRequests, EncodersMustHaveTheWeightsOfThePlan) {
  const auto planned = plan_with("[features.a]\ntype = 'vector'\ncolumn = 'n'\nencoder = 'hash:8'\n");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(check_encoders(planned->plan, planned->encoders));
  PreparePlan other = planned->plan;
  other.encoder_digests["hash:8"] = "another";
  PreparePlan none = planned->plan;
  none.encoder_digests.clear();
  for (const PreparePlan& plan : {other, none}) {
    const Status checked = check_encoders(plan, planned->encoders);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(checked.error().message, HasSubstr("weights of hash:8 that differ"));
  }
}

TEST_F(PlanRequests, AMapNeedsPythonAndTextInUtf8) {
  PlanRequest request{.options = {.map = "module:function"}};
  environment_.variables["HEADRACE_PYTHON"] = "/no/such/python";
  constexpr std::string_view kSchema = "[features.n]\ntype = 'int64'\n";
  EXPECT_THAT(failure(plan_with(kSchema, request)), HasSubstr("NOT_FOUND HEADRACE_PYTHON"));
  environment_.variables["HEADRACE_PYTHON"] = "/bin/false";
  context_.python_package = [] { return Result<std::string>(Error{Code::kNotFound, "no package"}); };
  EXPECT_EQ(failure(plan_with(kSchema, request)), "NOT_FOUND no package");
  context_.python_package = [] { return Result<std::string>("/the/package"); };
  EXPECT_THAT(failure(plan_with(concat("encoding = 'latin-1'\n", kSchema), request)),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("the encoding latin-1 does not go with --map")));
  EXPECT_TRUE(plan_with(concat("encoding = 'latin-1'\n", kSchema))) << "without a map it may";
  EXPECT_THAT(failure(plan_with(kSchema, request)), HasSubstr("FAILED_PRECONDITION"))
      << "/bin/false loads no function";
}

TEST_F(PlanRequests, AMapsProgramIsThatOfThePlan) {
  environment_.variables["HEADRACE_PYTHON"] = "/bin/false";
  context_.python_package = [] { return Result<std::string>("/the/package"); };
  context_.map_row_timeout = std::chrono::milliseconds(1234);
  const auto pool = make_map_pool({.cell_limit_bytes = 55, .map = "module:function"}, context_);
  ASSERT_TRUE(pool && *pool);
  const MapProgram& program = (*pool)->program();
  EXPECT_EQ(program.interpreter, "/bin/false");
  EXPECT_EQ(program.package_folder, "/the/package");
  EXPECT_EQ(program.function, "module:function");
  EXPECT_EQ(program.row_timeout, std::chrono::milliseconds(1234));
  EXPECT_EQ(program.cell_limit_bytes, 55U);
  EXPECT_EQ(*make_map_pool({}, context_), nullptr);
}

TEST_F(PlanRequests, SlicesAreAsLargeAsThePlanSaysAndSmallWithAMap) {
  for (const char* name : {"a", "b", "c"}) put(concat("tables/", name, ".csv"), std::string_view("n\n1\n"));
  const auto count = [&](const std::string& input, InputFormat format, const PreparePlan& plan) {
    const auto found = look_at_input(at(input), format, plan);
    EXPECT_TRUE(found) << found.error().message;
    return found->slices.size();
  };
  EXPECT_EQ(count("tables", InputFormat::kCsv, {}), 1U);
  EXPECT_EQ(count("tables", InputFormat::kCsv, {.slice_bytes = 8}), 2U);
  EXPECT_EQ(count("tables", InputFormat::kCsv, {.slice_bytes = 1}), 3U);
  for (int i = 0; i < 2000; ++i) put(concat("images/train/cat/", i, ".jpg"), std::string_view("x"));
  EXPECT_EQ(count("images", InputFormat::kImageFolder, {}), 1U);
  EXPECT_EQ(count("images", InputFormat::kImageFolder, {.map = "module:function"}), 2U);
}

TEST_F(PlanRequests, APlanToContinueHasTheOptionsOfThePublishedOneAndWhatIsNew) {
  put("tables/a.csv", std::string_view("n\n1\n"));
  const auto first = plan({.options = {.seed = 5, .compression = "none"}}, "tables");
  ASSERT_TRUE(first) << first.error().message;
  add_part("inputs", "_headrace/inputs/1", read_line("tables/a.csv"));
  const std::uint64_t number = publish(plan_configuration(first->plan));
  put("tables/b.csv", std::string_view("n\n1\n2\n"));
  const auto more = plan({.continuation = Continuation::kAppend, .options = {.seed = 6}}, "tables");
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->plan.seed, 5U);
  EXPECT_EQ(more->plan.compression, "none");
  EXPECT_EQ(more->plan.base->number, number);
  EXPECT_EQ(more->plan.continuation, Continuation::kAppend);
  EXPECT_EQ(schema_to_toml(more->plan.schema), schema_to_toml(first->plan.schema));
  ASSERT_EQ(more->plan.input.slices.size(), 1U);
  EXPECT_EQ(more->plan.input.slices[0].files.at(0).url, "memory://test/tables/b.csv");
  EXPECT_EQ(more->plan.pasts.size(), 1U);
  EXPECT_FALSE(more->has_inferred_schema);
}

TEST_F(PlanRequests, ToContinueThereMustBeADatasetAndItsEncoders) {
  const PlanRequest append{.continuation = Continuation::kAppend};
  EXPECT_THAT(failure(plan(append, "in.csv")), HasSubstr("NOT_FOUND no dataset is published"));
  const auto first = plan_with("[features.a]\ntype = 'vector'\ncolumn = 'n'\nencoder = 'hash:8'\n");
  ASSERT_TRUE(first) << first.error().message;
  PreparePlan other = first->plan;
  other.encoder_digests["hash:8"] = "another";
  add_part("inputs", "_headrace/inputs/1", read_line("in.csv"));
  publish(plan_configuration(other));
  EXPECT_THAT(failure(plan(append, "in.csv")),
              HasSubstr("FAILED_PRECONDITION the plan was made with weights"));
  publish(plan_configuration(first->plan), OwnershipAction::kOverwrite);
  const auto more = plan(append, "in.csv");
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_TRUE(more->encoders.contains("hash:8"));
  EXPECT_TRUE(more->plan.input.slices.empty()) << "all was read";
}

std::string toml_of(InputFormat format, const LayoutSchemaOptions& options) {
  const auto schema = layout_schema(format, options);
  return schema ? schema_to_toml(*schema) : "none";
}

TEST(LayoutSchemas, TextsHaveAVectorAndALabelAndAreKeptIfAsked) {
  const auto schema = layout_schema(InputFormat::kAclImdb, {.encoder = "hash:8"});
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->split, "split");
  EXPECT_TRUE(schema->replaces_text);
  ASSERT_THAT(feature_names(*schema), ElementsAre("id", "label", "sentence", "text"));
  EXPECT_EQ(schema->features[0].type, SchemaType::kString);
  EXPECT_EQ(schema->features[1].type, SchemaType::kLabel);
  EXPECT_TRUE(schema->features[1].one_hot);
  EXPECT_THAT(schema->features[1].vocabulary, ElementsAre("pos", "neg"));
  EXPECT_EQ(schema->features[2].type, SchemaType::kVector);
  EXPECT_THAT(schema->features[2].columns, ElementsAre("text"));
  EXPECT_EQ(schema->features[2].encoder, "hash:8");
  EXPECT_EQ(schema->features[3].type, SchemaType::kString);
  const auto vectors = layout_schema(InputFormat::kAclImdb, {.encoder = "hash:8", .keeps_text = false});
  ASSERT_THAT(feature_names(*vectors), ElementsAre("label", "sentence"));
  EXPECT_THAT(vectors->features[0].vocabulary, ElementsAre("pos", "neg"));
  const auto folder = layout_schema(InputFormat::kTextFolder, {.encoder = "hash:8"});
  ASSERT_THAT(feature_names(*folder), ElementsAre("id", "label", "sentence", "text"));
  EXPECT_TRUE(folder->features[1].vocabulary.empty()) << "the folders' names are the classes";
  EXPECT_TRUE(folder->features[1].one_hot);
}

TEST(LayoutSchemas, ImagesHaveTheirStepsAndTablesNoSchema) {
  LayoutSchemaOptions options;
  options.image.output = ImageOutput::kRawBase64;
  const auto schema = layout_schema(InputFormat::kImageFolder, options);
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->split, "split");
  ASSERT_THAT(feature_names(*schema), ElementsAre("id", "image", "label"));
  EXPECT_EQ(schema->features[0].type, SchemaType::kString);
  EXPECT_EQ(schema->features[1].type, SchemaType::kImage);
  EXPECT_EQ(schema->features[1].image.output, ImageOutput::kRawBase64);
  EXPECT_EQ(schema->features[2].type, SchemaType::kLabel);
  EXPECT_FALSE(schema->features[2].one_hot);
  for (const InputFormat format : {InputFormat::kCsv, InputFormat::kTsv, InputFormat::kJsonLines,
                                   InputFormat::kWebDataset, InputFormat::kTfrecord})
    EXPECT_EQ(toml_of(format, options), "none") << input_format_name(format);
}

}  // namespace
}  // namespace headrace
