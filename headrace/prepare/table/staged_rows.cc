#include "headrace/prepare/table/staged_rows.h"

#include "headrace/base/text.h"

namespace headrace {

bool is_staged_folder(std::string_view key) {
  while (key.ends_with('/')) key.remove_suffix(1);
  if (!key.ends_with(kStagedFolder)) return false;
  key.remove_suffix(kStagedFolder.size());
  return key.empty() || key.ends_with('/');
}

std::optional<StagedPart> parse_staged_name(std::string_view name) {
  constexpr std::string_view kFromStore = "stored-", kBegin = "rows-", kEnd = ".tfrecord";
  constexpr std::size_t kDigits = 12, kDigestDigits = 32;
  const bool is_from_store = name.starts_with(kFromStore);
  if (is_from_store) name.remove_prefix(kFromStore.size());
  if (name.size() != kBegin.size() + kDigits + 1 + kDigestDigits + kEnd.size()) return std::nullopt;
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  const std::string_view number = name.substr(kBegin.size(), kDigits);
  const std::string_view digest = name.substr(kBegin.size() + kDigits + 1, kDigestDigits);
  if (name[kBegin.size() + kDigits] != '-' || number.find_first_not_of("0123456789") != number.npos ||
      digest.find_first_not_of("0123456789abcdef") != digest.npos) {
    return std::nullopt;
  }
  return StagedPart{parse_number<std::uint64_t>(number).value_or(0), is_from_store};
}

std::optional<StagedPart> staged_part(std::string_view url) {
  const std::size_t slash = url.rfind('/');
  if (slash == url.npos || !is_staged_folder(url.substr(0, slash))) return std::nullopt;
  return parse_staged_name(url.substr(slash + 1));
}

std::string_view version_of_content(std::string_view url, std::string_view version) {
  return staged_part(url) ? std::string_view() : version;
}

}  // namespace headrace
