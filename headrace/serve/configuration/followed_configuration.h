#pragma once

/// \file A configuration in a store, which may change while it is used.

#include <functional>
#include <optional>
#include <string>

#include "headrace/base/result.h"
#include "headrace/serve/configuration/serving_configuration.h"
#include "headrace/store/location.h"

namespace headrace {

/// Not thread-safe.
class FollowedConfiguration {
 public:
  /// As parse_serving_configuration: a text, and its name in messages.
  using Parse = std::function<Result<ServingConfiguration>(std::string_view, std::string_view)>;

  /// Reads the file. `file` names one object.
  /// \error kInvalidArgument    as `parse`
  /// \error kResourceExhausted  it is larger than kMostConfigurationBytes
  /// \error as Store::read_into
  static Result<FollowedConfiguration> open(Location file, Parse parse, const CallOptions& call);

  const ServingConfiguration& current() const { return current_; }

  /// Looks at the file: one `stat` if nothing has changed. True if current() is another one now. A change
  /// counts when a second look finds the version that was read: call it again after a second if it
  /// `is_settling`.
  /// \error as `open`, as long as the file is so; current() stays
  Result<bool> poll(const CallOptions& call);
  bool is_settling() const { return read_.has_value(); }

  std::string describe() const { return file_.describe(); }

 private:
  FollowedConfiguration(Location file, Parse parse) : file_(std::move(file)), parse_(std::move(parse)) {}
  struct ReadText {
    std::string text;
    Version version;
  };
  Result<ReadText> read(const CallOptions& call) const;
  Result<bool> take(const ReadText& read);

  Location file_;
  Parse parse_;
  ServingConfiguration current_;
  Version version_;               // that was parsed last, and
  std::optional<Error> problem_;  // what was wrong with it
  std::optional<ReadText> read_;  // not yet parsed
};

inline constexpr std::uint64_t kMostConfigurationBytes = 1 << 20;

}  // namespace headrace
