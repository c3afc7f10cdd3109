#pragma once

/// \file How far the features of later data have moved away from the data that a model was trained on.
///
/// The measure is the population stability index over bins: PSI = Σ (q − p) ln(q / p), where a bin has the
/// share p before and q now. This is the symmetric Kullback–Leibler divergence. Sources: Siddiqi, "Credit
/// Risk Scorecards" (2006), also for the rule that below 0.1 nothing has changed and above 0.25 much has;
/// Yurdakul and Naranjo, "Statistical properties of the population stability index" (Journal of Risk Model
/// Validation 14, 2020): for samples of size n and m from one distribution, and B bins, PSI / (1/n + 1/m) has
/// the χ² distribution with B − 1 degrees of freedom.
///
/// Bins of numbers and of sizes end at the deciles of the data before, computed from samples of 2,048
/// numbers. A number that makes up a tenth of them has its own bin; NaN and infinities share one. Bins of
/// values are the 20 most frequent values before, all other values that occurred before, and new values.
/// Records that lack the feature are a bin. Bins that are empty both before and now are left out. Half a
/// record is added to each bin, so that no share is 0.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/statistics/split_statistics.h"

namespace headrace {

struct FeatureDrift {
  std::string feature;
  /// The kind of comparison: "numbers", "values", "bytes" (sizes of byte strings), or "presence". Empty if
  /// nothing was compared; `reason` says why.
  std::string compared;
  std::string reason;
  double psi = 0;
  /// Two samples of one distribution exceed this PSI once in a hundred times.
  double chance = 0;
  /// True if `psi` is above 0.1 and above `chance`.
  bool has_moved = false;
  /// Shares of records that lack the feature.
  double missing_before = 0;
  double missing_now = 0;
  /// The share of values now that did not occur before; 0 if no values are compared.
  double new_values = 0;
  /// The bin that adds most to PSI, and its shares. Examples: a value in quotes, "above 18, up to 24.5",
  /// "missing".
  std::string bin;
  double bin_before = 0;
  double bin_now = 0;
};

/// Compares every feature that `before` or `now` has. Returns the largest PSI first; features that are not
/// compared come last, by name. Not compared are images (datasets often have other ones than were sent),
/// features that only `now` has, and features that are numbers in one and byte strings in the other, as
/// vectors of texts are. A feature that only `before` has counts as missing in all records now; but a label
/// or `id` is not compared then. `vocabularies`: as in SplitStatistics::add. Pure.
std::vector<FeatureDrift> compare_features(const SplitStatistics& before, const SplitStatistics& now,
                                           const FeatureVocabularies& vocabularies);

Json feature_drift_to_json(const std::vector<FeatureDrift>& drifts);
/// A heading and a line for each feature, in columns. Each line begins with a line break.
std::string feature_drift_to_text(const std::vector<FeatureDrift>& drifts);

}  // namespace headrace
