#pragma once

/// \file The versions of a model that a server should have, and the files of each. Values; the functions are
/// pure.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// Largest number of versions of one model that are wanted at the same time.
inline constexpr std::size_t kMostWantedVersions = 32;
/// Largest number of files of a version.
inline constexpr std::size_t kMostVersionFiles = 100'000;
/// Largest size of a version.
inline constexpr std::uint64_t kMostVersionBytes = std::uint64_t{1} << 40;

/// One file of a version.
struct WantedFile {
  std::string name;  // relative to the SavedModel's folder, as base/key.h says
  std::string key;   // of the object in the store
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> crc32c{};  // from the manifest; nullopt: Headrace did not publish the file
  std::optional<Version> version{};       // the version to read; nullopt: `crc32c` decides
};

struct WantedVersion {
  std::uint64_t number = 0;  // the number that clients use
  Location folder;           // the export, or an external SavedModel
  /// SHA-256 (hex) that identifies the files: of the export's manifest, or of the folder's URL and the names,
  /// sizes and versions of its objects.
  std::string digest;
  std::vector<WantedFile> files;  // ascending by name
  std::uint64_t size_bytes = 0;   // of all files
  /// The attributes of the export's manifest, for parse_contract (model/contract.h); nullopt: Headrace did
  /// not publish the model.
  std::optional<std::string> attributes_json{};
};

struct WantedVersions {
  std::vector<std::shared_ptr<const WantedVersion>> versions;  // ascending by number
  std::map<std::string, std::uint64_t, std::less<>> labels;    // alias → number of one of `versions`
  /// Sentences that say why less is wanted than was asked for: an export is not yet published, or a folder is
  /// being uploaded.
  std::vector<std::string> remarks;
};

/// Whether a text is 64 lower-case hexadecimal digits.
bool is_digest(std::string_view text);

/// Whether numbers, digests and labels are equal.
bool is_same(const WantedVersions& a, const WantedVersions& b);

/// The version with this number; null if it is not wanted.
std::shared_ptr<const WantedVersion> find_version(const WantedVersions& wanted, std::uint64_t number);

/// SHA-256 (hex) that identifies the files of a folder as they were listed, including their versions. Pass
/// different `kind` or `detail` where the same files are read differently.
std::string listing_digest(std::string_view kind, const Location& folder, std::string_view detail,
                           const std::vector<WantedFile>& files);

/// Sorts the files of `version`, sums their sizes, and checks the fields that came from a store.
/// \error kInvalidArgument    a name leads out of the folder or occurs twice, or one is the folder of
///                            another; there is no saved_model.pb; not is_digest(digest)
/// \error kResourceExhausted  more than kMostVersionFiles, or more than kMostVersionBytes
Result<std::shared_ptr<const WantedVersion>> checked_version(WantedVersion version);

/// Which versions are wanted.
struct VersionPolicy {
  enum class Choice : std::uint8_t {
    kDefault,  // of a named model: the versions that aliases name; else the highest
    kLatest,   // the `latest` highest versions
    kAll,
    kNumbers,  // `numbers`
  };
  Choice choice = Choice::kDefault;
  std::uint64_t latest = 1;
  std::vector<std::uint64_t> numbers{};
  bool operator==(const VersionPolicy&) const = default;
};
/// Checks that a policy can be followed.
/// \error kInvalidArgument  it wants no version, or more than kMostWantedVersions
Status check_policy(const VersionPolicy& policy);

/// Checks the number of wanted versions. `place` is for the message.
/// \error kResourceExhausted  `count` is more than kMostWantedVersions
Status check_version_count(std::size_t count, const Location& place);

}  // namespace headrace
