#pragma once

/// \file The score of one training of a model, and the object that stores it:
/// docs/formats/learning-curve.md, "A score".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/coordinate/configuration.h"
#include "headrace/store/location.h"

namespace headrace {

inline constexpr std::size_t kMostScoreRemarks = 16;
inline constexpr std::size_t kScoreRemarkBytes = 1'000;  // of each remark; longer ones are cut

struct Score {
  Configuration configuration;  // everything that decides the metrics
  std::uint64_t records = 0;    // number of training records
  std::uint64_t seed = 0;
  std::map<std::string, double> metrics;  // of the evaluation, by the names of recorded_metrics
  double seconds = 0;                     // of the training steps, including input
  std::uint64_t epochs = 0;               // number of trained epochs
  std::uint64_t best_epoch = 0;           // from 1: with the lowest validation loss; without one, the last
  /// A class of the label that no training record has, and the number of such classes; empty: none.
  std::string missing_class{};
  std::uint64_t missing_classes = 0;
  std::vector<std::string> remarks{};  // for people, about this training; at most kMostScoreRemarks
};

/// The key of the score's object: "scores/" and the first 32 digits of the configuration's digest.
std::string score_key(const Configuration& configuration);

/// The JSON of a score, with a final newline.
std::string score_to_json(const Score& score);

/// Parses what score_to_json has written.
/// \error kDataLoss  the text is damaged, not a score, or of a later version
Result<Score> parse_score(std::string_view json);

/// Reads the score with this configuration below `folder`; nullopt: it is not there.
/// \error kDataLoss  the object is damaged or has another configuration; the message says what to do
Result<std::optional<Score>> read_score(const Location& folder, const Configuration& configuration,
                                        const CallOptions& call);

/// Creates the score's object, unless it already exists. Returns the score that is then stored.
/// \error as `read_score`
Result<Score> create_score(const Location& folder, const Score& score, const CallOptions& call);

}  // namespace headrace
