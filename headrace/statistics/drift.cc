#include "headrace/statistics/drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "headrace/base/text.h"
#include "headrace/page/html.h"

namespace headrace {
namespace {

constexpr double kNotablePsi = 0.1;
constexpr std::size_t kTenths = 10;
constexpr std::size_t kValueBins = 20;
constexpr double kAddedToBin = 0.5;
constexpr double kNormal99 = 2.3263;  // a standard normal number exceeds it once in a hundred times

struct Bin {
  std::string name;
  double before = 0;  // number of records or numbers
  double now = 0;
};

// The χ² that is exceeded once in a hundred times (Wilson and Hilferty, 1931).
double chi_square_99(double degrees) {
  const double part = 2 / (9 * degrees);
  return degrees * std::pow(1 - part + kNormal99 * std::sqrt(part), 3);
}

void measure(const std::vector<Bin>& bins, FeatureDrift& out) {
  double before = 0, now = 0;
  for (const Bin& bin : bins) before += bin.before, now += bin.now;
  const double added = kAddedToBin * static_cast<double>(bins.size());
  double most = -1;
  for (const Bin& bin : bins) {
    const double p = (bin.before + kAddedToBin) / (before + added);
    const double q = (bin.now + kAddedToBin) / (now + added);
    const double part = (q - p) * std::log(q / p);
    out.psi += part;
    if (part <= most) continue;
    most = part;
    out.bin = bin.name;
    out.bin_before = bin.before / before;
    out.bin_now = bin.now / now;
  }
  const double degrees = std::max<double>(1, static_cast<double>(bins.size()) - 1);
  out.chance = chi_square_99(degrees) * (1 / before + 1 / now);
  out.has_moved = out.psi > std::max(kNotablePsi, out.chance);
}

// Reduces all bins in proportion, and adds a bin for the records without the feature.
void add_missing(std::vector<Bin>& bins, const FeatureDrift& drift) {
  if (drift.missing_before == 0 && drift.missing_now == 0) return;
  double before = 0, now = 0;
  for (Bin& bin : bins) {
    before += bin.before, now += bin.now;
    bin.before *= 1 - drift.missing_before;
    bin.now *= 1 - drift.missing_now;
  }
  bins.push_back({"missing", before * drift.missing_before, now * drift.missing_now});
}

// Holds the numbers up to `end` that are above the bin before.
struct BinOfNumbers {
  double end = 0;
  std::string name;
};

// Returns bins that end at the tenths of ascending numbers. A value that makes up a tenth of the numbers gets
// its own bin. Otherwise a smaller value would share that bin and not be seen.
std::vector<BinOfNumbers> tenths_of(const std::vector<double>& numbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<BinOfNumbers> out;
  std::string above;  // "above" the end of the bin before
  const auto end_bin = [&](double end, std::string name) {
    if (!out.empty() && end <= out.back().end) return;
    out.push_back({end, above.empty() ? std::move(name) : concat(above, ", ", name)});
  };
  for (std::size_t i = 1; i < kTenths && !numbers.empty(); ++i) {
    const double end = numbers[numbers.size() * i / kTenths];
    if (!out.empty() && end == out.back().end) continue;
    const auto [first, last] = std::equal_range(numbers.begin(), numbers.end(), end);
    const auto count = static_cast<std::size_t>(last - first);
    if (count > 1 && count * kTenths >= numbers.size()) {
      end_bin(std::nextafter(end, -kInfinity), concat("below ", shortened(end)));
      out.push_back({end, shortened(end)});
    } else {
      end_bin(end, concat("up to ", shortened(end)));
    }
    above = concat("above ", shortened(end));
  }
  out.push_back({kInfinity, above.empty() ? "finite" : above});
  return out;
}

// Returns how many numbers that are not finite there would be if they had been sampled like the others.
double sampled_not_finite(const NumberSketch& numbers, std::size_t sampled) {
  const auto not_finite = static_cast<double>(numbers.not_finite());
  if (numbers.count() == 0) return not_finite;
  return not_finite * static_cast<double>(sampled) / static_cast<double>(numbers.count());
}

std::vector<Bin> bins_of_numbers(const NumberSketch& before, const NumberSketch& now) {
  const std::vector<double> a = before.sample(), b = now.sample();
  const std::vector<BinOfNumbers> tenths = tenths_of(a);
  std::vector<Bin> bins;
  for (const BinOfNumbers& each : tenths) bins.push_back({each.name});
  const auto bin_of = [&](double number) -> Bin& {
    const auto found = std::ranges::lower_bound(tenths, number, {}, &BinOfNumbers::end);
    return bins[static_cast<std::size_t>(found - tenths.begin())];
  };
  for (const double number : a) ++bin_of(number).before;
  for (const double number : b) ++bin_of(number).now;
  bins.push_back(
      {"NaN or infinite", sampled_not_finite(before, a.size()), sampled_not_finite(now, b.size())});
  std::erase_if(bins, [](const Bin& bin) { return bin.before == 0 && bin.now == 0; });
  return bins;
}

bool has_numbers(const FeatureStatistics& feature) {
  return feature.numbers.count() + feature.numbers.not_finite() > 0;
}

std::vector<Bin> bins_of_values(const ValueCounts& before, const ValueCounts& now, FeatureDrift& out) {
  std::vector<Bin> bins;
  std::set<std::string, std::less<>> frequent;
  double other_before = static_cast<double>(before.total());
  for (const auto& [value, count] : before.top(kValueBins)) {
    frequent.insert(value);
    other_before -= static_cast<double>(count);
    bins.push_back({concat('"', printable_line(value, 60), '"'), static_cast<double>(count),
                    static_cast<double>(now.count_of(value))});
  }
  double other_now = 0, new_now = 0;
  for (const auto& [value, count] : now.counts()) {
    if (frequent.contains(value)) continue;
    (before.count_of(value) == 0 ? new_now : other_now) += static_cast<double>(count);
  }
  if (other_before > 0) bins.push_back({"rarer values", other_before, other_now});
  if (new_now > 0) bins.push_back({"new values", 0, new_now});
  out.new_values = new_now / static_cast<double>(now.total());
  return bins;
}

// Whether a feature is compared by its values. It is if few values occur again and again, unless they are
// numbers with an order.
bool has_values(const std::string& name, const FeatureStatistics& before, const FeatureStatistics& now,
                const FeatureVocabularies& vocabularies) {
  const ValueCounts& a = before.values;
  if (!a.is_complete() || !now.values.is_complete() || a.total() == 0 || now.values.total() == 0)
    return false;
  if (a.counts().size() * 2 > a.total()) return false;  // an identifier
  const bool are_names = !has_numbers(now) || vocabularies.contains(name);
  return are_names || a.counts().size() <= kValueBins;
}

double missing_share(const SplitStatistics& split, const FeatureStatistics& feature) {
  if (split.records == 0) return 0;
  return static_cast<double>(split.records - feature.records) / static_cast<double>(split.records);
}

FeatureDrift compare_feature(const std::string& name, const SplitStatistics& before,
                             const SplitStatistics& now, const FeatureVocabularies& vocabularies) {
  FeatureDrift out{.feature = name};
  const auto found_before = before.features.find(name), found_now = now.features.find(name);
  if (found_before == before.features.end()) return out.reason = "not in the dataset", out;
  const bool is_in_requests = found_now != now.features.end();
  if (!is_in_requests && (vocabularies.contains(name) || name == "id"))
    return out.reason = "not in the requests", out;
  const FeatureStatistics none;
  const FeatureStatistics &a = found_before->second, &b = is_in_requests ? found_now->second : none;
  out.missing_before = missing_share(before, a);
  out.missing_now = missing_share(now, b);
  const bool is_image = a.images.count > 0 || b.images.count > 0;
  if (is_image && b.records > 0) return out.reason = "an image", out;
  std::vector<Bin> bins;
  if (has_values(name, a, b, vocabularies)) {
    out.compared = "values";
    bins = bins_of_values(a.values, b.values, out);
  } else if (has_numbers(a) && has_numbers(b)) {
    out.compared = "numbers";
    bins = bins_of_numbers(a.numbers, b.numbers);
  } else if (a.sizes_bytes.count() > 0 && b.sizes_bytes.count() > 0) {
    out.compared = "bytes";
    bins = bins_of_numbers(a.sizes_bytes, b.sizes_bytes);
  } else if (a.records == 0 || b.records == 0) {
    out.compared = "presence";
    bins = {{"present", static_cast<double>(before.records), static_cast<double>(now.records)}};
  } else {
    return out.reason = concat(a.dtype, " in the dataset, ", b.dtype, " in the requests"), out;
  }
  add_missing(bins, out);
  measure(bins, out);
  return out;
}

std::string percent(double share) { return concat(shortened(std::round(share * 1000) / 10), " %"); }

std::string from_to(double before, double now) {
  return before == 0 && now == 0 ? "" : concat(percent(before), " → ", percent(now));
}

// Counts characters instead of bytes, since an arrow has three bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
}

}  // namespace

std::vector<FeatureDrift> compare_features(const SplitStatistics& before, const SplitStatistics& now,
                                           const FeatureVocabularies& vocabularies) {
  std::set<std::string> names;
  for (const auto* const split : {&before, &now}) {
    for (const auto& [name, feature] : split->features) names.insert(name);
  }
  std::vector<FeatureDrift> out;
  for (const std::string& name : names) out.push_back(compare_feature(name, before, now, vocabularies));
  std::ranges::stable_sort(out, [](const FeatureDrift& a, const FeatureDrift& b) {
    if (a.compared.empty() != b.compared.empty()) return b.compared.empty();
    return a.psi > b.psi;
  });
  return out;
}

Json feature_drift_to_json(const std::vector<FeatureDrift>& drifts) {
  Json out = Json::array();
  for (const FeatureDrift& each : drifts) {
    Json feature = {{"feature", each.feature},
                    {"missing", {{"dataset", each.missing_before}, {"requests", each.missing_now}}}};
    if (each.compared.empty()) {
      feature["not_compared"] = each.reason;
    } else {
      feature["compared"] = each.compared;
      feature["psi"] = each.psi;
      feature["chance"] = each.chance;
      feature["has_moved"] = each.has_moved;
      feature["new_values"] = each.new_values;
      feature["most"] = {{"bin", each.bin}, {"dataset", each.bin_before}, {"requests", each.bin_now}};
    }
    out.push_back(std::move(feature));
  }
  return out;
}

std::string feature_drift_to_text(const std::vector<FeatureDrift>& drifts) {
  using Cells = std::array<std::string, 6>;
  std::vector<Cells> rows = {{"feature", "PSI", "", "missing", "new values", "most"}};
  for (const FeatureDrift& each : drifts) {
    Cells& row = rows.emplace_back();
    row[0] = printable_line(each.feature, 60);
    row[3] = from_to(each.missing_before, each.missing_now);
    if (each.compared.empty()) {
      row[5] = concat("not compared: ", each.reason);
      continue;
    }
    row[1] = concat(shortened(std::round(each.psi * 1000) / 1000));
    row[2] = each.has_moved ? "moved" : "";
    row[4] = each.new_values > 0 ? percent(each.new_values) : "";
    row[5] = concat(each.compared, ": ", each.bin, ", ", from_to(each.bin_before, each.bin_now));
  }
  std::array<std::size_t, 6> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const Cells& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i)
      line += concat(" ", row[i], std::string(widths[i] - width_of(row[i]) + 1, ' '));
    line.erase(line.find_last_not_of(' ') + 1);
    out += concat("\n", line);
  }
  return out;
}

}  // namespace headrace
