#include "headrace/prepare/source/known_inputs.h"

#include <algorithm>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/prepare/table/staged_rows.h"

namespace headrace {
namespace {

constexpr HashKey kKnownKey{0x696e7075742c7572, 0x6c6f727665727369};

std::uint64_t hash_of(std::string_view text) { return siphash(kKnownKey, as_bytes(text)); }

}  // namespace

void KnownInputs::add(std::string_view url, std::string_view version) {
  versions_.emplace_back(hash_of(url), hash_of(version_of_content(url, version)));
}

void KnownInputs::settle() {
  std::stable_sort(versions_.begin(), versions_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

KnownInputs::Match KnownInputs::look(std::string_view url, std::string_view version) const {
  // The record replaces invalid UTF-8, so several URLs may look the same there.
  const bool is_recorded_as_it_is = is_valid_utf8(url);
  const std::uint64_t key = hash_of(is_recorded_as_it_is ? url : replace_invalid_utf8(url).text);
  const auto after =
      std::upper_bound(versions_.begin(), versions_.end(), key,
                       [](std::uint64_t hash, const auto& known) { return hash < known.first; });
  if (after == versions_.begin() || std::prev(after)->first != key) return Match::kNew;
  if (std::prev(after)->second == hash_of(version_of_content(url, version))) return Match::kSame;
  return is_recorded_as_it_is ? Match::kChanged : Match::kNew;
}

Error changed_since_read(std::string_view url) {
  return {
      Code::kFailedPrecondition,
      concat(url, " has changed since it was read, so its new rows cannot be recognised. Put new rows into ",
             "new files, or prepare everything again with --overwrite. For objects that were rejected and "
             "are repaired now, use --retry-failed")};
}

}  // namespace headrace
