#pragma once

/// \file How good a model was that was trained in one way, and the object that keeps this:
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
inline constexpr std::size_t kScoreRemarkBytes = 1'000;  // of each; what is longer is cut

struct Score {
  Configuration configuration;  // everything that decides the metrics
  std::uint64_t records = 0;    // that the model was trained on
  std::uint64_t seed = 0;
  std::map<std::string, double> metrics;  // of the evaluation, as recorded_metrics names them
  double seconds = 0;                     // of the training steps, input included
  std::uint64_t epochs = 0;               // that were trained
  std::uint64_t best_epoch = 0;           // from 1: with the lowest validation loss; without one, the last
  /// A class of the model's label that no record has that the model was trained on, and how many there are;
  /// empty: none.
  std::string missing_class{};
  std::uint64_t missing_classes = 0;
  std::vector<std::string> remarks{};  // for people, about this training; of at most kMostScoreRemarks
};

/// The name of its object: "scores/" and the first 32 digits of the configuration's digest.
std::string score_key(const Configuration& configuration);

/// Ends with a newline.
std::string score_to_json(const Score& score);

/// \error kDataLoss  it is damaged, not a score, or of a later version
Result<Score> parse_score(std::string_view json);

/// The score with this configuration below `folder`; none if it is not there.
/// \error kDataLoss  it is damaged, or of another configuration: says what to do
Result<std::optional<Score>> read_score(const Location& folder, const Configuration& configuration,
                                        const CallOptions& call);

/// Creates the score's object; if there is one already, that stays. Returns the one that is there then.
/// \error as `read_score`
Result<Score> create_score(const Location& folder, const Score& score, const CallOptions& call);

}  // namespace headrace
