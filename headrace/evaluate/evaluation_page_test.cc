#include <gmock/gmock.h>

#include "headrace/evaluate/evaluate.h"
#include "headrace/evaluate/tiny_run_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHostileText = "<script>alert('1')</script>\" onload=\"x \xff\x80";

ModelTarget target_of(TargetKind kind, std::uint64_t values) {
  ModelFeature label{.name = "label", .type = DataType::kFloat32};
  if (values > 1) label.shape = {static_cast<std::int64_t>(values)};
  return {.tensor = "labels", .output = "dense", .label = label, .kind = kind};
}

std::vector<std::string> numbered_classes(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(concat("class", i));
  return out;
}

Evaluation evaluation_with(TargetEvaluation target) {
  Evaluation out{.model = {"memory://m", "abc"}, .data = {"memory://d", "def"}, .split = "test"};
  out.records = 10;
  out.metrics = {{"loss", 0.25}};
  out.targets.push_back(std::move(target));
  return out;
}

std::string page_of(TargetEvaluation target) {
  return evaluation_to_html(evaluation_with(std::move(target)), "run-1");
}

TEST(EvaluationPage, ShowsAMatrixUpToFiftyClassesAndThenTheMostConfused) {
  for (const std::size_t classes : {2U, 50U, 51U}) {
    auto target = TargetEvaluation::of(target_of(TargetKind::kClasses, 1), numbered_classes(classes));
    for (int i = 0; i < 7; ++i) target.confusion.front().add(1, 0);
    target.confusion.front().add(1, 1);
    const std::string page = page_of(std::move(target));
    EXPECT_THAT(page, HasSubstr("class1")) << classes;
    if (classes <= 50) {
      EXPECT_THAT(page, HasSubstr("class1 answered as class0: 7, 87.5 %"));
    } else {
      EXPECT_THAT(page, HasSubstr("<td>class1</td><td>class0</td><td>7</td><td>87.5 %</td>"));
    }
  }
}

TEST(EvaluationPage, OfManyClassesShowsTheHundredWithTheLowestF1) {
  auto target = TargetEvaluation::of(target_of(TargetKind::kClasses, 1), numbered_classes(150));
  for (std::size_t i = 0; i < 50; ++i) target.confusion.front().add(i, i);
  const std::string page = page_of(std::move(target));
  EXPECT_THAT(page, HasSubstr("The 100 with the lowest F1, of 150"));
  EXPECT_THAT(page, Not(HasSubstr(">class49<")));
  EXPECT_THAT(page, HasSubstr(">class50<"));
}

TEST(EvaluationPage, OfYesAndNoHasScoresCalibrationAndTheCurve) {
  auto target = TargetEvaluation::of(target_of(TargetKind::kBinary, 1), {"ham", "spam"});
  for (int i = 0; i < 10; ++i) {
    target.scores.front().add(0.25F, i < 3);
    target.scores.front().add_probability(0.25F, i < 3);
    target.scores.front().add(0.75F, i < 7);
    target.scores.front().add_probability(0.75F, i < 7);
  }
  const std::string page = page_of(target);
  EXPECT_THAT(page,
              AllOf(HasSubstr("<title>7 ham, 3 spam</title>"), HasSubstr("<title>3 ham, 7 spam</title>")));
  EXPECT_THAT(page, HasSubstr("10 records, mean score 0.75, yes 70.0 %"));
  EXPECT_THAT(page, HasSubstr("ROC curve: area 0.7"));
  target.meaning = TargetScores::kMargin;
  EXPECT_THAT(page_of(target), AllOf(Not(HasSubstr("Calibration")), HasSubstr("ROC curve: area 0.7")));
}

TEST(EvaluationPage, ShowsTheModelsAccuracyAndThatOfTheTarget) {
  auto target = TargetEvaluation::of(target_of(TargetKind::kBinary, 1), {"ham", "spam"});
  target.meaning = TargetScores::kLogit;
  for (int i = 0; i < 4; ++i) target.confusion.front().add(1, i == 0 ? 0 : 1);
  Evaluation evaluation = evaluation_with(target);
  EXPECT_EQ(recorded_metrics(evaluation).at("accuracy"), 0.75);
  evaluation.metrics["accuracy"] = 0.5;  // of logits above 0.5
  EXPECT_EQ(recorded_metrics(evaluation).at("accuracy"), 0.5) << "the model's own metric keeps its name";
  EXPECT_EQ(accuracy_name(target), "accuracy of label (yes above 0)");
  const std::string page = evaluation_to_html(evaluation, "run-1");
  EXPECT_THAT(page,
              AllOf(HasSubstr("accuracy of label (yes above 0)"), HasSubstr(">0.75<"), HasSubstr(">0.5<")));
  evaluation.targets.push_back(target);
  EXPECT_EQ(recorded_metrics(evaluation).at("dense_accuracy"), 0.75);
}

TEST(EvaluationPage, WithoutAYesThereIsNoCurve) {
  auto target = TargetEvaluation::of(target_of(TargetKind::kBinary, 1), {"ham", "spam"});
  target.scores.front().add(0.25F, false);
  EXPECT_THAT(page_of(std::move(target)), Not(HasSubstr("ROC curve")));
}

TEST(EvaluationPage, OfNumbersShowsAnswersAndTruths) {
  auto target = TargetEvaluation::of(target_of(TargetKind::kRegression, 2), {});
  for (int i = 0; i < 5; ++i) {
    target.numbers[0].add(i + 0.5, i);
    target.numbers[1].add(-i, i);
  }
  const std::string page = page_of(std::move(target));
  EXPECT_THAT(page, HasSubstr("Answers and truths: label[0]"));
  EXPECT_THAT(page, HasSubstr("<title>true 4, answered 4.5</title>"));
  EXPECT_THAT(page, HasSubstr("<title>true 4, answered -4</title>"));
  EXPECT_THAT(page, HasSubstr("5 of 5 records"));
}

TEST(EvaluationPage, OfLabelsShowsEach) {
  auto target = TargetEvaluation::of(target_of(TargetKind::kMultiLabel, 2), {"sport", "money"});
  target.confusion[1].add(1, 1);
  target.scores[1].add(0.9F, true);
  target.scores[1].add(0.1F, false);
  const std::string page = page_of(std::move(target));
  EXPECT_THAT(page, AllOf(HasSubstr("<td>sport</td>"), HasSubstr("<td>money</td>"), HasSubstr("ROC area")));
}

TEST(EvaluationPage, IsTheSameForTheSameEvaluation) {
  const auto make = [] {
    auto target = TargetEvaluation::of(target_of(TargetKind::kRegression, 1), {});
    for (int i = 0; i < 5000; ++i) target.numbers[0].add(i % 7, i % 5);
    return page_of(std::move(target));
  };
  EXPECT_EQ(make(), make());
}

TEST(EvaluationPage, LetsNothingOfDataAndModelBecomeMarkup) {
  const std::string hostile(kHostileText);
  ModelTarget named = target_of(TargetKind::kClasses, 1);
  named.output = named.label.name = hostile;
  auto target = TargetEvaluation::of(named, {hostile, hostile + "2"});
  target.confusion.front().add(0, 1);
  RecordPreview preview{
      .texts = {{hostile, hostile}}, .thumbnails = {{hostile, {}}}, .numbers = {{hostile, hostile}}};
  target.worst.add(
      {.object = hostile, .record = 3, .error = 1, .truth = {0}, .answer = {0, 1}, .preview = preview});
  Evaluation evaluation = evaluation_with(std::move(target));
  evaluation.model = evaluation.data = {hostile, hostile};
  evaluation.split = hostile;
  evaluation.metrics[hostile] = 1;
  evaluation.remarks = {hostile};
  const std::string page = evaluation_to_html(evaluation, "run-1");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\" onload")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert("));
  EXPECT_TRUE(is_valid_utf8(page));
}

TEST(EvaluationPage, HasABoundedSizeWhateverItIsMadeOf) {
  const std::string huge(3 << 20, '"');
  Evaluation evaluation{.model = {huge, huge}, .data = {huge, huge}, .split = huge};
  evaluation.remarks = std::vector<std::string>(100, huge);
  for (int i = 0; i < 100; ++i) evaluation.metrics[concat(i, huge.substr(0, 1000))] = i;
  for (int i = 0; i < 60; ++i) {
    ModelTarget named = target_of(TargetKind::kClasses, 1);
    named.output = named.label.name = huge.substr(0, 1000);
    std::vector<std::string> classes(50, huge.substr(0, 1000));
    auto target = TargetEvaluation::of(named, std::move(classes));
    for (std::size_t truth = 0; truth < 50; ++truth) {
      for (std::size_t answer = 0; answer < 50; ++answer) target.confusion.front().add(truth, answer);
    }
    evaluation.targets.push_back(std::move(target));
  }
  const std::string page = evaluation_to_html(evaluation, "run-1");
  EXPECT_LE(page.size(), kEvaluationPageBytes);
  EXPECT_THAT(page, HasSubstr("Parts were left out"));
}

class EvaluationPageOfData : public TinyRun {
 protected:
  EvaluationPageOfData() {
    publish_export("run/export");
    publish_data({{tiny_record(0, 0, 1), tiny_record(0, 1, 3)}, {tiny_record(1, 0, 10)}}, attributes());
  }
  std::string page(bool shows_records) {
    const ExportedModel model = open_model();
    const auto result = evaluate(model, at("data"), {.shows_records = shows_records},
                                 [](std::uint64_t, std::uint64_t) {}, {});
    EXPECT_TRUE(result) << result.error().message;
    return evaluation_to_html(*result, "run-1");
  }
};

TEST_F(EvaluationPageOfData, ShowsTheContentOfTheWorstRecords) {
  const std::string shown = page(true);
  EXPECT_THAT(shown, HasSubstr("<dt>id</dt><dd>a1</dd>"));
  EXPECT_THAT(shown, HasSubstr("<dt>id</dt><dd>a2</dd>"));
  EXPECT_THAT(shown, HasSubstr("<dt>x</dt><dd>0.25, 0.75, 3</dd>"));
  EXPECT_THAT(shown, HasSubstr("<dt>y</dt><dd>pos</dd>"));
  EXPECT_THAT(shown, Not(HasSubstr("a0"))) << "it is right";
  EXPECT_THAT(shown, HasSubstr("record 1 of memory://test/data/test-00000"));
}

TEST_F(EvaluationPageOfData, LeavesARecordOutThatCannotBeReadAgain) {
  const ExportedModel model = open_model();
  const auto damage = [&](std::uint64_t done, std::uint64_t) {
    if (done == 3) {
      ASSERT_TRUE(remove_object(*store, "data/test-00001"));
    }
  };
  const auto result = evaluate(model, at("data"), {.shows_records = true}, damage, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->records, 3U);
  ASSERT_EQ(result->remarks.size(), 1U);
  EXPECT_THAT(result->remarks[0],
              HasSubstr("leaves out the content of record 0 of memory://test/data/test-00001"));
  const std::string page = evaluation_to_html(*result, "run-1");
  EXPECT_THAT(page, AllOf(HasSubstr("<dt>id</dt><dd>a1</dd>"), Not(HasSubstr("<dd>a2</dd>"))));
}

TEST_F(EvaluationPageOfData, LeavesTheContentOutIfItIsNotAskedFor) {
  const std::string shown = page(false);
  EXPECT_THAT(shown, Not(HasSubstr("<dt>")));
  EXPECT_THAT(shown, HasSubstr("record 1 of memory://test/data/test-00000"));
}

}  // namespace
}  // namespace headrace
