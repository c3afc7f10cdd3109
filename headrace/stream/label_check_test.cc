#include "headrace/stream/label_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LabelCheck : public LoaderTest {
 protected:
  // The error about a batch with these labels, for an output of three scores. The last of its four rows is
  // not a record.
  std::string check(const std::vector<std::int64_t>& values) {
    publish({7}, 0);
    LoaderOptions options{.columns = {{.name = "x", .length = kWidth}}};
    options.batch_size = 4;
    options.shuffle = ShuffleMode::kNone;
    const auto loader = *BatchLoader::create({{.dataset = *Dataset::open(location, {})}}, options);
    EXPECT_TRUE(*loader->next());
    const Batch batch = **loader->next();
    target.label = {.name = "kind", .type = DataType::kInt64, .shape = {}};
    const auto width = static_cast<std::int64_t>(values.size() / 4);
    if (width > 1) target.label.shape = {width};
    const ModelBinding binding{.inputs = {{"features", "x", {.name = "x"}}},
                               .targets = {target},
                               .outputs = {{"predictions", "scores", {3}}}};
    const float ignored = 0;
    const std::vector<TensorView> columns = {TensorView::of(&ignored, {}),
                                             TensorView::of(values.data(), {4, width})};
    const Status checked = check_labels(binding, columns, batch, *loader);
    return checked ? "" : checked.error().message;
  }

  ModelTarget target{.tensor = "labels", .output = "scores", .label = {}};
};

TEST_F(LabelCheck, ClassesAreBelowTheirNumber) {
  EXPECT_EQ(check({0, 1, 2, 0}), "");
  EXPECT_EQ(check({0, -1, 2, 0}), "") << "TensorFlow refuses it, or the loss leaves it out";
  target.ignored_class = 255;
  EXPECT_EQ(check({0, 255, 2, 0}), "");
  EXPECT_THAT(check({1, 3, 2, 0}),
              AllOf(HasSubstr("the label kind of record 5 of memory://test/data/"),
                    HasSubstr(" is 3; the output scores has 3 scores, so classes are 0 to 2"
                              ". Give its layer more units, or number the classes from 0")));
}

TEST_F(LabelCheck, BinaryOnesAreZeroOrOne) {
  target.kind = TargetKind::kBinary;
  EXPECT_EQ(check({0, 1, 1, 0}), "");
  EXPECT_THAT(check({0, 2, 1, 0}),
              AllOf(HasSubstr(" is 2; the loss of the output scores takes 0 to 1. Use")));
  EXPECT_THAT(check({0, -1, 1, 0}), HasSubstr(" is -1"));
  target.scores = TargetScores::kMargin;
  EXPECT_EQ(check({-1, 1, 1, 0}), "");
  EXPECT_THAT(check({-2, 1, 1, 0}), HasSubstr("takes -1 to 1"));
}

TEST_F(LabelCheck, EachOfSeveralLabelsIsZeroOrOne) {
  target.kind = TargetKind::kMultiLabel;
  EXPECT_EQ(check({0, 1, 1, 1, 0, 0, 1, 1}), "");
  EXPECT_THAT(check({0, 1, 1, 1, 0, 5, 1, 1}), AllOf(HasSubstr("of record 6 of"), HasSubstr("is 5")));
}

TEST_F(LabelCheck, NumbersAreAnyAndRowsThatAreNoRecordDoNotCount) {
  EXPECT_EQ(check({0, 1, 2, 99}), "");
  EXPECT_THAT(check({0, 1, 98, 99}), HasSubstr("is 98"));
  target.kind = TargetKind::kRegression;
  EXPECT_EQ(check({0, 7, -2, 99}), "");
}

}  // namespace
}  // namespace headrace
