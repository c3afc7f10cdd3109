#pragma once

/// \file How far the features of later data have moved away from those of the data that a model learnt from.
///
/// The measure is the population stability index over bins: PSI = Σ (q − p) ln(q / p), with the share p of
/// a bin before and q now. It is Kullback and Leibler's symmetric divergence. Sources: Siddiqi, "Credit Risk
/// Scorecards" (2006), also for the rule that below 0.1 nothing has happened and above 0.25 much; Yurdakul
/// and Naranjo, "Statistical properties of the population stability index" (Journal of Risk Model Validation
/// 14, 2020): for samples of n and m from one distribution, PSI / (1/n + 1/m) has the χ² distribution of
/// B − 1 degrees of freedom for B bins.
///
/// Bins of numbers and of sizes end at the tenths of the data before, by samples of 2,048 numbers; a number
/// that a tenth of them has is a bin of its own, and NaN and infinities have one. Bins of values are the 20
/// most frequent before, all others of before, and those that are new. Records that lack the feature are a
/// bin of their own. Bins that are empty before and now are left out. Half a record is added to each bin, so
/// that no share is 0.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/statistics/split_statistics.h"

namespace headrace {

struct FeatureDrift {
  std::string feature;
  /// One of "numbers", "values", "bytes" (sizes of byte strings), or "presence"; empty: nothing,
  /// see `reason`.
  std::string compared;
  std::string reason;
  double psi = 0;
  /// The PSI that samples of one distribution exceed once in a hundred times.
  double chance = 0;
  /// PSI is above 0.1 and above chance.
  bool has_moved = false;
  /// Shares of records without the feature.
  double missing_before = 0;
  double missing_now = 0;
  /// Share of the records now with a value that did not occur before; 0 if no values are compared.
  double new_values = 0;
  /// The bin that adds most to PSI: a value, "18 to 24.5", "missing"; and its shares.
  std::string bin;
  double bin_before = 0;
  double bin_now = 0;
};

/// Every feature of either, the largest PSI first; behind them those that are not compared, by name. Not
/// compared are images (datasets often have others than were sent), features that only `now` has, and
/// features that are numbers here and byte strings there, as vectors of texts are. A feature that only
/// `before` has is missing in all records now, unless it is a label or `id`, which are not compared then.
/// `vocabularies`: as SplitStatistics::add. Pure.
std::vector<FeatureDrift> compare_features(const SplitStatistics& before, const SplitStatistics& now,
                                           const FeatureVocabularies& vocabularies);

Json feature_drift_to_json(const std::vector<FeatureDrift>& drifts);
/// A line for each feature, in columns.
std::string feature_drift_to_text(const std::vector<FeatureDrift>& drifts);

}  // namespace headrace
