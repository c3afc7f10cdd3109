#include "tests/interleave/check_curves.h"

#include <algorithm>
#include <map>
#include <set>

#include "headrace/base/text.h"
#include "headrace/sweep/score.h"

namespace headrace::interleave {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::size_t kCurveRows = 3;  // a row for each size that the commands measure, with one seed
const std::string kDocument = "learning-curve.json";

std::string text_at(const World& world, const std::string& key) {
  const auto read = read_object(*world.out, key, kMostBytes);
  return read ? std::string(as_text(read->data)) : std::string();
}

// A score by its key, and why it is none.
std::map<std::string, Result<Score>> scores_of(const World& world) {
  std::map<std::string, Result<Score>> out;
  const auto objects = list_all(*world.out, concat(kCurveScores, "/"));
  for (const ObjectInfo& object : *objects) {
    Result<Score> score = parse_score(text_at(world, object.key));
    if (score && concat("x/", score_key(score->configuration)) != object.key)
      score = Error{Code::kDataLoss, "it is the score of another configuration"};
    out.emplace(object.key, std::move(score));
  }
  return out;
}

// The names of the objects of each report, by its folder.
std::map<std::string, std::vector<std::string>> reports_of(const World& world) {
  std::map<std::string, std::vector<std::string>> out;
  const auto objects = list_all(*world.out, concat(kCurveReports, "/"));
  for (const ObjectInfo& object : *objects) {
    const std::size_t slash = object.key.rfind('/');
    out[object.key.substr(0, slash)].push_back(object.key.substr(slash + 1));
  }
  return out;
}

// A row of a report's table.
std::string row_of(const Score& score) {
  return concat(score.records, ",", score.metrics.at("loss"), ",", score.seed, ",", score.seconds);
}

}  // namespace

void see_curves(const World& world, Seen& seen) {
  for (const auto& [key, score] : scores_of(world)) {
    std::string text = score ? "" : score.error().message;
    if (score) {
      for (const auto& [name, value] : score->metrics) text += concat(name, " ", value, " ");
    }
    seen[key] = std::move(text);
  }
  std::vector<std::string> reports;
  for (const auto& [folder, names] : reports_of(world)) {
    if (std::ranges::find(names, kDocument) == names.end()) continue;  // it is not complete
    std::string text = join(names, ", ");
    for (const std::string& line : split(text_at(world, concat(folder, "/scores.csv")), '\n'))
      text += concat("\n", line.substr(0, line.rfind(',')));
    reports.push_back(std::move(text));
  }
  std::ranges::sort(reports);
  if (!reports.empty()) seen[std::string(kCurveReports)] = join(reports, "\n");
}

void check_curves(const World& world, std::vector<std::string>& damage) {
  const auto scores = scores_of(world);
  std::set<std::string> rows;
  for (const auto& [key, score] : scores) {
    if (!score) damage.push_back(concat(key, ": ", score.error().message));
    if (score) rows.insert(row_of(*score));
  }
  if (world.out->shortened().contains(std::string(kCurveScores))) return;  // any part may be gone
  for (const auto& [folder, names] : reports_of(world)) {
    const std::set<std::string> has(names.begin(), names.end());
    if (has.contains(kDocument) && !has.contains("report.html"))
      damage.push_back(folder + " has a document without a page");
    if (has.contains("report.html") && !has.contains("scores.csv"))
      damage.push_back(folder + " has a page without a table");
    std::size_t row_count = 0;
    for (const std::string& line : split(text_at(world, concat(folder, "/scores.csv")), '\n')) {
      const bool is_row = !line.empty() && !line.starts_with("size");
      row_count += is_row ? 1 : 0;
      if (is_row && !rows.contains(line)) damage.push_back(concat(folder, ": no score says ", line));
    }
    if (has.contains("scores.csv") && row_count != kCurveRows)
      damage.push_back(concat(folder, ": the table has ", row_count, " rows, not ", kCurveRows));
  }
}

}  // namespace headrace::interleave
