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

/// More versions of one model are not wanted at once.
inline constexpr std::size_t kMostWantedVersions = 32;
/// A version with more files is refused.
inline constexpr std::size_t kMostVersionFiles = 100'000;
/// So is a larger one.
inline constexpr std::uint64_t kMostVersionBytes = std::uint64_t{1} << 40;

/// One file of a version.
struct WantedFile {
  std::string name;  // relative to the SavedModel's folder, as base/key.h says
  std::string key;   // of the object in the store
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> crc32c{};  // as the manifest says; none: Headrace did not publish it
  std::optional<Version> version{};       // the only one to read; none: `crc32c` tells
};

struct WantedVersion {
  std::uint64_t number = 0;  // as clients name it
  Location folder;           // the export, or somebody else's SavedModel
  /// SHA-256 (hex) that stands for the files: of the export's manifest, or of the folder's URL and the names,
  /// sizes and versions of its objects.
  std::string digest;
  std::vector<WantedFile> files;  // ascending by name
  std::uint64_t size_bytes = 0;   // of all files
  /// The attributes of the export's manifest, which parse_contract (model/contract.h) takes; none: Headrace
  /// did not publish the model.
  std::optional<std::string> attributes_json{};
};

struct WantedVersions {
  std::vector<std::shared_ptr<const WantedVersion>> versions;  // ascending by number
  std::map<std::string, std::uint64_t, std::less<>> labels;    // alias → number of one of `versions`
  /// Why less is wanted than somebody asked for, in sentences: an export that is not published yet, a folder
  /// that is being uploaded.
  std::vector<std::string> remarks;
};

/// Whether it is 64 lower-case hexadecimal digits.
bool is_digest(std::string_view text);

/// Whether numbers, digests and labels are equal.
bool is_same(const WantedVersions& a, const WantedVersions& b);

/// The version with this number; null if it is not wanted.
std::shared_ptr<const WantedVersion> find_version(const WantedVersions& wanted, std::uint64_t number);

/// SHA-256 (hex) that stands for the files of a folder as they were listed, versions included. `kind` and
/// `detail` keep what is read differently apart.
std::string listing_digest(std::string_view kind, const Location& folder, std::string_view detail,
                           const std::vector<WantedFile>& files);

/// Sorts the files of `version`, sums their sizes, and checks what came from a store.
/// \error kInvalidArgument    a name would lead out of the folder or is there twice, or one is the folder of
///                            another; there is no saved_model.pb; the digest is none
/// \error kResourceExhausted  more than kMostVersionFiles, or more than kMostVersionBytes
Result<std::shared_ptr<const WantedVersion>> checked_version(WantedVersion version);

/// Which versions are wanted.
struct VersionPolicy {
  enum class Choice : std::uint8_t {
    kDefault,  // a named model: those that aliases name; else the highest
    kLatest,   // the highest `latest`
    kAll,
    kNumbers,  // `numbers`
  };
  Choice choice = Choice::kDefault;
  std::uint64_t latest = 1;
  std::vector<std::uint64_t> numbers{};
  bool operator==(const VersionPolicy&) const = default;
};
/// \error kInvalidArgument  it wants no version, or more than kMostWantedVersions
Status check_policy(const VersionPolicy& policy);

/// \error kResourceExhausted  more than kMostWantedVersions
Status check_version_count(std::size_t count, const Location& place);

}  // namespace headrace
