#include "headrace/evaluate/target_parts.h"

#include <algorithm>
#include <numeric>

#include "headrace/base/text.h"
#include "headrace/page/charts.h"
#include "headrace/page/html.h"

namespace headrace {
namespace {

constexpr std::size_t kShownNameBytes = 60;
constexpr std::size_t kShownPlaceBytes = 300;
constexpr std::size_t kTableRows = 100;
constexpr std::size_t kConfusedPairs = 30;
constexpr std::size_t kTopScores = 3;

std::string shown_name(std::string_view name) { return html_escaped(beginning_of(name, kShownNameBytes)); }

// Shows a share as a number and a bar.
std::string share_cell(double share) {
  return concat("<span class=\"share\">", shortened(share), " <meter value=\"", share, "\"></meter></span>");
}

ClassScores scores_of(const TargetEvaluation& target, std::size_t i) {
  return target.kind == TargetKind::kMultiLabel ? target.confusion[i].scores(1)
                                                : target.confusion.front().scores(i);
}

// Shows all classes in their order. If there are too many, shows only those with the lowest F1.
PagePart classes_part(const TargetEvaluation& target) {
  std::vector<std::size_t> shown(target.classes.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  const bool are_too_many = shown.size() > kTableRows;
  if (are_too_many) {
    std::vector<double> f1;
    for (const std::size_t i : shown) f1.push_back(scores_of(target, i).f1);
    std::ranges::stable_sort(shown, {}, [&](std::size_t i) { return f1[i]; });
    shown.resize(kTableRows);
  }
  const bool has_areas = target.kind == TargetKind::kMultiLabel;
  std::vector<std::string> heading = {"", "precision", "recall", "F1", "records"};
  if (has_areas) heading.insert(heading.end() - 1, "ROC area");
  std::vector<std::string> rows;
  for (const std::size_t i : shown) {
    const ClassScores scores = scores_of(target, i);
    std::vector<std::string> cells = {shown_name(target.classes[i]), share_cell(scores.precision),
                                      share_cell(scores.recall), share_cell(scores.f1)};
    if (has_areas) cells.push_back(shortened(target.scores[i].area_under_roc()));
    cells.push_back(grouped(scores.support));
    rows.push_back(html_row(cells));
  }
  const std::string hint = concat("The ", kTableRows, " with the lowest F1, of ", target.classes.size());
  return {has_areas ? "Labels" : "Classes",
          concat(are_too_many ? html_hint(hint) : "", html_table(heading, rows))};
}

PagePart confused_pairs_part(const TargetEvaluation& target) {
  const ConfusionMatrix& confusion = target.confusion.front();
  struct Pair {
    std::uint64_t count;
    std::size_t truth, answer;
  };
  std::vector<Pair> pairs;
  for (std::size_t truth = 0; truth < confusion.classes(); ++truth) {
    for (std::size_t answer = 0; answer < confusion.classes(); ++answer) {
      if (truth != answer && confusion.count(truth, answer) > 0)
        pairs.push_back({confusion.count(truth, answer), truth, answer});
    }
  }
  std::ranges::stable_sort(pairs, std::ranges::greater(), &Pair::count);
  if (pairs.size() > kConfusedPairs) pairs.resize(kConfusedPairs);
  std::vector<std::string> rows;
  for (const Pair& pair : pairs) {
    const auto support = static_cast<double>(confusion.scores(pair.truth).support);
    rows.push_back(html_row({shown_name(target.classes[pair.truth]), shown_name(target.classes[pair.answer]),
                             grouped(pair.count), percentage(static_cast<double>(pair.count) / support)}));
  }
  return {"The most confused classes",
          html_table({"true class", "answered as", "records", "of that class"}, rows)};
}

PagePart confusion_part(const TargetEvaluation& target) {
  if (target.classes.size() > kMatrixNames) return confused_pairs_part(target);
  const ConfusionMatrix& confusion = target.confusion.front();
  return {"Confusion", concat(html_hint("The true class by row, the answer by column."),
                              html_matrix(target.classes, [&](std::size_t truth, std::size_t answer) {
                                return confusion.count(truth, answer);
                              }))};
}

void add_probability_parts(const TargetEvaluation& target, std::vector<PagePart>& out) {
  StackedBars bars{.x = target.meaning == TargetScores::kLogit ? "probability, from the logit" : "score",
                   .lower_name = target.classes.front(),
                   .upper_name = target.classes.back(),
                   .lower = {},
                   .upper = {}};
  std::vector<ChartPoint> calibration;
  for (const CalibrationBin& bin : target.scores.front().calibration()) {
    bars.upper.push_back(bin.positives);
    bars.lower.push_back(bin.records - bin.positives);
    if (bin.records == 0) continue;
    const auto records = static_cast<double>(bin.records);
    const double mean = bin.score_sum / records, share = static_cast<double>(bin.positives) / records;
    calibration.push_back({mean, share,
                           concat(grouped(bin.records), " records, mean score ", shortened(mean), ", yes ",
                                  percentage(share))});
  }
  out.push_back({"Scores", html_stacked_bars(bars)});
  out.push_back({"Calibration",
                 concat(html_hint("A score is a probability where the points lie on the diagonal."),
                        html_square_chart({.x = "mean score", .y = "share that is a yes", .is_curve = true},
                                          calibration))});
}

void add_binary_parts(const TargetEvaluation& target, std::vector<PagePart>& out) {
  const BinaryScores& scores = target.scores.front();
  if (target.meaning != TargetScores::kMargin) add_probability_parts(target, out);
  std::vector<ChartPoint> roc;
  for (const auto& [false_share, true_share] : scores.roc_curve()) roc.push_back({false_share, true_share});
  if (roc.empty()) return;
  out.push_back(
      {concat("ROC curve: area ", shortened(scores.area_under_roc())),
       html_square_chart({.x = "no, answered as yes", .y = "yes, answered as yes", .is_curve = true}, roc)});
}

std::string number_name(const TargetEvaluation& target, std::size_t i) {
  return target.numbers.size() == 1 ? target.label : concat(target.label, "[", i, "]");
}

void add_number_parts(const TargetEvaluation& target, std::vector<PagePart>& out) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < std::min(target.numbers.size(), kTableRows); ++i) {
    const RegressionScores& numbers = target.numbers[i];
    rows.push_back(html_row({shown_name(number_name(target, i)), shortened(numbers.mean_absolute_error()),
                             shortened(numbers.root_mean_squared_error()), shortened(numbers.r_squared()),
                             shortened(numbers.mean_residual())}));
  }
  const std::string first = concat("The first ", kTableRows, " of ", target.numbers.size());
  out.push_back({"Numbers", concat(target.numbers.size() > kTableRows ? html_hint(first) : "",
                                   html_table({"", "MAE", "RMSE", "R²", "mean residual"}, rows))});
  for (std::size_t i = 0; i < target.numbers.size(); ++i) {
    std::vector<ChartPoint> points;
    for (const auto& [truth, predicted] : target.numbers[i].sample())
      points.push_back(
          {truth, predicted, concat("true ", shortened(truth), ", answered ", shortened(predicted))});
    if (points.empty()) continue;
    const double start = points.front().x;
    out.push_back(
        {concat("Answers and truths: ", beginning_of(number_name(target, i), kShownNameBytes)),
         concat(html_hint(concat(grouped(points.size()), " of ", grouped(target.numbers[i].records()),
                                 " records. An answer is right on the diagonal, too high above it.")),
                html_square_chart({.x = "true", .y = "answered", .low = start, .high = start}, points))});
  }
}

// Returns the highest scores, such as "cat 0.91, dog 0.07".
std::string top_scores(const TargetEvaluation& target, const WorstRecord& record) {
  if (target.kind == TargetKind::kBinary) return concat("score ", shortened(record.answer.front()));
  if (target.kind != TargetKind::kClasses) return {};
  std::vector<std::size_t> order(record.answer.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return record.answer[i]; });
  if (order.size() > kTopScores) order.resize(kTopScores);
  std::vector<std::string> words;
  for (const std::size_t i : order)
    words.push_back(
        concat(beginning_of(target.classes[i], kShownNameBytes), " ", shortened(record.answer[i])));
  return join(words, ", ");
}

std::string preview_rows(const RecordPreview& preview) {
  std::string out;
  for (const auto* const features : {&preview.texts, &preview.numbers}) {
    for (const auto& [name, value] : *features)
      out += concat("<dt>", shown_name(name), "</dt><dd>", html_escaped(value), "</dd>");
  }
  return out.empty() ? out : html_element("dl", out);
}

std::string worst_record(const TargetEvaluation& target, const WorstRecord& record) {
  constexpr std::size_t kAnswerBytes = 200;
  const auto cut = [](const std::string& text) { return html_escaped(beginning_of(text, kAnswerBytes)); };
  const std::string scores = top_scores(target, record);
  std::string content = concat("<p><b>", cut(describe_truth(target, record)), "</b> answered as <b>",
                               cut(describe_answer(target, record)), "</b>, off by ", shortened(record.error),
                               scores.empty() ? "" : concat(" (", html_escaped(scores), ")"), "</p>");
  if (record.preview) {
    for (const auto& [name, jpeg] : record.preview->thumbnails) content += html_jpeg(jpeg, name);
    content += preview_rows(*record.preview);
  }
  content += html_element("figcaption", html_escaped(concat("record ", record.record, " of ",
                                                            beginning_of(record.object, kShownPlaceBytes))));
  return html_element("figure", content, "record");
}

void add_worst_parts(const TargetEvaluation& target, std::vector<PagePart>& out) {
  std::string title = "Farthest from the truth";
  for (const WorstRecord& record : target.worst.records())
    out.push_back({std::exchange(title, ""), worst_record(target, record)});
}

}  // namespace

std::vector<PagePart> target_parts(const TargetEvaluation& target) {
  std::vector<PagePart> out;
  switch (target.kind) {
    case TargetKind::kBinary:
      out = {classes_part(target), confusion_part(target)};
      add_binary_parts(target, out);
      break;
    case TargetKind::kClasses:
      out = {classes_part(target), confusion_part(target)};
      break;
    case TargetKind::kMultiLabel:
      out = {classes_part(target)};
      break;
    case TargetKind::kRegression:
      add_number_parts(target, out);
      break;
  }
  add_worst_parts(target, out);
  return out;
}

}  // namespace headrace
