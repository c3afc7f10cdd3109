#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/statistics/dataset_report.h"

namespace headrace {
namespace {

constexpr double kNotableDistance = 0.1;
constexpr std::uint64_t kImbalance = 10;

// The distance that two samples from the same distribution exceed once in a hundred times (Smirnov, 1948).
double by_chance(std::uint64_t a, std::uint64_t b) {
  return 1.63 * std::sqrt(1 / static_cast<double>(a) + 1 / static_cast<double>(b));
}

// Returns, for example, "1 row was" or "3 rows were".
std::string counted(std::uint64_t count, std::string_view one, std::string_view several) {
  return concat(count, " ", count == 1 ? one : several);
}

double share(const ValueCounts& counts, std::string_view value) {
  return static_cast<double>(counts.count_of(value)) / static_cast<double>(counts.total());
}

void compare_values(const ValueCounts& from, const ValueCounts& to, SplitDistance& out) {
  for (const ValueCounts* const counts : {&from, &to}) {
    for (const auto& [value, times] : counts->counts()) {
      const double difference = std::abs(share(from, value) - share(to, value));
      if (difference <= out.distance) continue;
      out.distance = difference;
      out.where = value;
    }
  }
  out.is_notable = out.distance > std::max(kNotableDistance, by_chance(from.total(), to.total()));
}

void compare_numbers(const NumberSketch& from, const NumberSketch& to, SplitDistance& out) {
  const std::vector<double> a = from.sample(), b = to.sample();
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const double at = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == at) ++i;
    while (j < b.size() && b[j] == at) ++j;
    out.distance = std::max(out.distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  out.is_notable = out.distance > std::max(kNotableDistance, by_chance(a.size(), b.size()));
}

// Whether values of a feature can be compared. All values of an identifier differ, which is not drift.
bool is_category(const FeatureStatistics& feature) {
  const ValueCounts& values = feature.values;
  return values.is_complete() && values.total() > 0 && values.counts().size() * 2 <= values.total();
}

void compare(const std::string& from, const SplitStatistics& a, const std::string& to,
             const SplitStatistics& b, std::vector<SplitDistance>& out) {
  for (const auto& [name, feature] : a.features) {
    const auto found = b.features.find(name);
    if (found == b.features.end()) continue;
    const FeatureStatistics& other = found->second;
    SplitDistance distance = {.feature = name, .from = from, .to = to};
    if (is_category(feature) && other.values.is_complete() && other.values.total() > 0) {
      compare_values(feature.values, other.values, distance);
    } else if (feature.numbers.count() > 0 && other.numbers.count() > 0) {
      compare_numbers(feature.numbers, other.numbers, distance);
    } else {
      continue;
    }
    out.push_back(std::move(distance));
  }
}

void judge_labels(const std::string& split, const SplitStatistics& statistics,
                  const FeatureVocabularies& vocabularies, std::vector<std::string>& warnings) {
  for (const auto& [name, labels] : vocabularies) {
    const auto found = statistics.features.find(name);
    if (found == statistics.features.end() || !found->second.values.is_complete()) continue;
    const ValueCounts& values = found->second.values;
    std::vector<std::string> missing;
    for (const std::string& label : labels) {
      if (values.count_of(label) == 0) missing.push_back(concat('"', printable_line(label, 60), '"'));
    }
    if (!missing.empty()) {
      const std::size_t count = missing.size();
      missing.resize(std::min<std::size_t>(count, 10));
      warnings.push_back(concat(split, ": no record has the ", name, " ", join(missing, ", "),
                                count > 10 ? concat(" and ", count - 10, " others") : ""));
    }
    const auto top = values.top(ValueCounts::kMaxValues);
    if (top.size() > 1 && top.front().second >= kImbalance * top.back().second) {
      warnings.push_back(concat(split, ": \"", printable_line(top.front().first, 60), "\" is the ", name,
                                " of ", top.front().second, " records, \"",
                                printable_line(top.back().first, 60), "\" of ", top.back().second));
    }
  }
}

void judge_features(const std::string& split, const SplitStatistics& statistics,
                    std::vector<std::string>& warnings) {
  for (const auto& [name, feature] : statistics.features) {
    const bool is_constant_number =
        feature.numbers.count() > 1 && feature.numbers.minimum() == feature.numbers.maximum();
    const bool is_constant_value = feature.values.counts().size() == 1 && feature.values.total() > 1;
    if (is_constant_value || is_constant_number)
      warnings.push_back(concat(split, ": ", name, " is the same in all records"));
    if (const std::uint64_t count = feature.numbers.not_finite(); count > 0) {
      const std::string odd =
          counted(count, concat("number of ", name, " is"), concat("numbers of ", name, " are"));
      warnings.push_back(concat(split, ": ", odd, " not finite"));
    }
  }
}

void judge_split(const std::string& split, const SplitStatistics& statistics,
                 const FeatureVocabularies& vocabularies, std::vector<std::string>& warnings) {
  if (statistics.damaged > 0)
    warnings.push_back(concat(split, ": ",
                              counted(statistics.damaged, "record is damaged or not a tf.Example",
                                      "records are damaged or not tf.Examples")));
  if (const std::uint64_t duplicates = statistics.duplicates(); duplicates > 0)
    warnings.push_back(concat(split, ": ", counted(duplicates, "record has", "records have"),
                              " the content of another one"));
  judge_labels(split, statistics, vocabularies, warnings);
  judge_features(split, statistics, warnings);
}

}  // namespace

void judge(DatasetReport& report) {
  const auto rejected = report.attributes.counts.find("rejected");
  if (rejected != report.attributes.counts.end() && rejected->second > 0)
    report.warnings.push_back(concat(counted(rejected->second, "row was", "rows were"), " rejected"));
  for (const auto& [name, split] : report.splits)
    judge_split(name, split.statistics, report.vocabularies, report.warnings);
  if (report.splits.empty()) return;
  auto reference = report.splits.find("train");
  if (reference == report.splits.end()) reference = report.splits.begin();
  for (auto a = report.splits.begin(); a != report.splits.end(); ++a) {
    for (auto b = std::next(a); b != report.splits.end(); ++b) {
      const auto& [name, split] = *(b == reference ? a : b);
      const auto& [other, other_split] = *(b == reference ? b : a);
      const std::uint64_t shared = shared_contents(split.statistics, other_split.statistics);
      if (shared == 0) continue;
      report.warnings.push_back(
          concat(counted(shared, concat("record of ", name, " has"), concat("records of ", name, " have")),
                 " the content of one of ", other));
    }
  }
  for (const auto& [name, split] : report.splits) {
    if (name != reference->first)
      compare(reference->first, reference->second.statistics, name, split.statistics, report.distances);
  }
  for (const SplitDistance& found : report.distances) {
    if (!found.is_notable) continue;
    const std::string where =
        found.where.empty() ? "" : concat(", most in \"", printable_line(found.where, 60), "\"");
    report.warnings.push_back(concat(found.feature, " differs between ", found.from, " and ", found.to,
                                     ": by ", static_cast<int>(std::lround(100 * found.distance)),
                                     " % of records", where));
  }
}

}  // namespace headrace
