#include "headrace/train/class_weights.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "headrace/base/text.h"
#include "headrace/train/label_classes.h"
#include "headrace/train/train_run.h"

namespace headrace {
namespace {

using Counts = std::map<std::int64_t, std::uint64_t>;

Error wrong_weights(std::string_view text, std::string_view what) {
  return {Code::kInvalidArgument,
          concat("--class-weights ", text, ": ", what, "; give balanced, or CLASS=WEIGHT,…")};
}

std::optional<std::uint64_t> number_of(std::string_view name, const std::vector<std::string>& vocabulary) {
  if (vocabulary.empty()) return parse_number<std::uint64_t>(name);
  const auto found = std::ranges::find(vocabulary, name);
  if (found == vocabulary.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - vocabulary.begin());
}

// If the only other class is 1, then -1 means "no", as in hinge losses. Otherwise -1 stands for no class, as
// in losses that ignore such records.
Counts without_unknown(Counts counts) {
  const auto unknown = counts.find(kUnknownClass);
  if (unknown == counts.end()) return counts;
  if (counts.size() == 2 && counts.contains(1)) counts[0] = unknown->second;
  counts.erase(kUnknownClass);
  return counts;
}

constexpr ClassAsker kBalancedAsker = {
    .option = "--class-weights balanced",
    .advice = "weigh records instead: give --weights the feature that has a weight for each record"};

Result<Counts> read_counts(const TrainRun& run, const ModelFeature& label) {
  Counts counts;
  const auto count = [&](std::uint64_t, std::int64_t number) {
    ++counts[number];
    return true;
  };
  HEADRACE_CHECK(visit_classes(run, label, run.options.memory_budget_bytes, kBalancedAsker, count));
  return counts;
}

// The counts of the manifest, if they count this label's classes in exactly the training records.
std::optional<Counts> known_counts(const TrainRun& run, const ModelFeature& label) {
  const DatasetAttributes& data = *run.dataset->attributes();
  const auto vocabulary = data.vocabularies.find(label.name);
  const auto split = data.splits.find(run.options.split);
  if (run.validation_range.count > 0 || run.options.on_corrupt != CorruptionPolicy::kFail ||
      vocabulary == data.vocabularies.end() || vocabulary->second != data.labels ||
      split == data.splits.end())
    return std::nullopt;
  Counts counts;
  std::uint64_t records = 0;
  for (std::size_t number = 0; number < data.labels.size(); ++number) {
    const auto found = split->second.labels.find(data.labels[number]);
    if (found == split->second.labels.end() || found->second == 0) continue;
    counts[static_cast<std::int64_t>(number)] = found->second;
    records += found->second;
  }
  return records == run.train_records() ? std::optional(std::move(counts)) : std::nullopt;
}

// Whether the manifest says that no record of the split has the class.
bool has_no_record(const TrainRun& run, const std::string& name, const std::vector<std::string>& names) {
  const DatasetAttributes& data = *run.dataset->attributes();
  const auto split = data.splits.find(run.options.split);
  if (names != data.labels || split == data.splits.end()) return false;
  const auto counted = split->second.labels.find(name);
  return counted == split->second.labels.end() || counted->second == 0;
}

}  // namespace

Result<std::map<std::uint64_t, double>> parse_class_weights(std::string_view text,
                                                            const std::vector<std::string>& vocabulary) {
  std::map<std::uint64_t, double> out;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.rfind('=');  // a name may have '='
    if (equals == part.npos) return wrong_weights(text, concat("\"", part, "\" has no weight"));
    const std::string_view name = trim(part.substr(0, equals)), weight = trim(part.substr(equals + 1));
    const auto value = parse_number<double>(weight);
    if (!value || !std::isfinite(*value) || *value < 0)
      return wrong_weights(text, concat(weight, " is not a weight: weights are finite and not below 0"));
    const std::optional<std::uint64_t> number = number_of(name, vocabulary);
    if (!number || *number >= static_cast<std::uint64_t>(kMostClasses)) {
      const std::string known = vocabulary.empty() ? "numbers from 0 upwards" : join(vocabulary, ", ");
      return wrong_weights(text, concat("there is no class ", name, "; the classes are ", known));
    }
    if (!out.emplace(*number, *value).second) return wrong_weights(text, concat(name, " is given twice"));
  }
  return out;
}

std::map<std::uint64_t, double> balanced_class_weights(
    const std::map<std::int64_t, std::uint64_t>& all_counts) {
  const Counts counts = without_unknown(all_counts);
  double records = 0;
  for (const auto& [number, count] : counts) records += static_cast<double>(count);
  std::map<std::uint64_t, double> out;
  for (const auto& [number, count] : counts)
    out[static_cast<std::uint64_t>(number)] =
        records / (static_cast<double>(counts.size()) * static_cast<double>(count));
  return out;
}

Result<TraceRequest> weighed_request(const TrainRun& run) {
  TraceRequest out = run.request;
  if (run.options.class_weights != kBalanced) return out;
  const ModelFeature& label = run.request.labels.front();
  const bool has_numbers = label.type == DataType::kInt64 || label.type == DataType::kFloat32;
  if (!has_numbers) return out;  // no model learns this label: the tracer reports the error
  std::optional<Counts> counts = known_counts(run, label);
  if (!counts) {
    HEADRACE_TRY(counts, read_counts(run, label));
  }
  out.class_weights = balanced_class_weights(*counts);
  return out;
}

Result<std::vector<std::string>> missing_classes(const TrainRun& run) {
  std::vector<std::string> missing;
  if (run.request.labels.empty()) return missing;
  const ModelFeature& label = run.request.labels.front();
  const DatasetAttributes& data = *run.dataset->attributes();
  const auto vocabulary = data.vocabularies.find(label.name);
  if (vocabulary == data.vocabularies.end()) return missing;
  // Numbers of the classes that have not been seen yet.
  std::set<std::int64_t> unseen;
  for (std::size_t number = 0; number < vocabulary->second.size(); ++number) {
    if (!has_no_record(run, vocabulary->second[number], vocabulary->second))
      unseen.insert(static_cast<std::int64_t>(number));
  }
  if (unseen.empty()) return missing;
  const auto see = [&](std::uint64_t, std::int64_t number) {
    unseen.erase(number);
    return !unseen.empty();
  };
  const Status seen = visit_classes(run, label, run.options.memory_budget_bytes, kBalancedAsker, see);
  if (!seen && seen.error().code == Code::kInvalidArgument) return missing;
  HEADRACE_CHECK(seen);
  for (const std::int64_t number : unseen)
    missing.push_back(vocabulary->second[static_cast<std::size_t>(number)]);
  return missing;
}

}  // namespace headrace
