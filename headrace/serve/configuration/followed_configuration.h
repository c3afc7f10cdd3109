#pragma once

/// \file A serving configuration in a store, which may change while the server runs.

#include <functional>
#include <optional>
#include <string>

#include "headrace/base/result.h"
#include "headrace/serve/configuration/serving_configuration.h"
#include "headrace/store/location.h"

namespace headrace {

/// A configuration that is read again when its file changes. Not thread-safe.
class FollowedConfiguration {
 public:
  /// As parse_serving_configuration: gets the text, and its name for messages.
  using Parse = std::function<Result<ServingConfiguration>(std::string_view, std::string_view)>;

  /// Reads the file, which is one object of a store.
  /// \error kInvalidArgument    as `parse`
  /// \error kResourceExhausted  the file is larger than kMostConfigurationBytes
  /// \error as Store::read_into
  static Result<FollowedConfiguration> open(Location file, Parse parse, const CallOptions& call);

  const ServingConfiguration& current() const { return current_; }

  /// Looks for a change of the file. Returns true if current() has changed. A changed file is parsed only
  /// when a second call finds the same version of it: if `is_settling`, call this again after a second.
  /// Cost: one `stat`, and one read after a change.
  /// \error as `open`, in every call until the file is mended; current() does not change
  Result<bool> poll(const CallOptions& call);
  /// Whether a changed file was read and is not yet parsed.
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
  Version version_;               // the version that was parsed last
  std::optional<Error> problem_;  // what was wrong with that version
  std::optional<ReadText> read_;  // not yet parsed
};

inline constexpr std::uint64_t kMostConfigurationBytes = 1 << 20;

}  // namespace headrace
