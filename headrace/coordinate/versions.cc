#include "headrace/coordinate/versions.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/chain.h"

namespace headrace {
namespace {

// Calls `take` with each manifest, from the last to the first, until `take` returns false.
Status read_manifests(const Location& folder, const CallOptions& call,
                      const std::function<bool(const NumberedObject&)>& take) {
  HEADRACE_TRY(std::vector<std::uint64_t> numbers,
               present_numbers(*folder.store, folder.at(kManifestPrefix).key, call));
  std::ranges::reverse(numbers);
  for (const std::uint64_t number : numbers) {
    HEADRACE_TRY(const std::optional<NumberedObject> object, read_number(folder, number, call));
    if (object && !is_entry(object->data) && !take(*object)) return {};
  }
  return {};
}

// Text for an error message, such as "it has 2, 4", or why the versions cannot be read.
std::string numbers_for_people(const Location& folder, const CallOptions& call) {
  std::vector<std::string> numbers;
  const Status read = read_manifests(folder, call, [&](const NumberedObject& manifest) {
    numbers.insert(numbers.begin(), concat(manifest.number));
    return true;
  });
  if (!read) return concat("its versions cannot be read: ", read.error().message);
  return numbers.empty() ? "it has no versions" : concat("it has ", join(numbers, ", "));
}

}  // namespace

Result<NumberedObject> read_version(const Location& folder, std::uint64_t number, const CallOptions& call) {
  HEADRACE_TRY(std::optional<NumberedObject> object, read_number(folder, number, call));
  if (object && !is_entry(object->data)) return *std::move(object);
  if (object) {
    return Error{Code::kInvalidArgument,
                 concat(folder.describe(), " has no version ", number,
                        ": that number is an entry of ownership, which publishes nothing; ",
                        numbers_for_people(folder, call))};
  }
  return Error{Code::kNotFound,
               concat(folder.describe(), " has no version ", number, "; ", numbers_for_people(folder, call))};
}

Result<std::optional<std::uint64_t>> version_of_digest(const Location& folder, std::string_view digest,
                                                       const CallOptions& call) {
  std::optional<std::uint64_t> found;
  HEADRACE_CHECK(read_manifests(folder, call, [&](const NumberedObject& manifest) {
    if (sha256_hex(manifest.data) == digest) found = manifest.number;
    return !found;
  }));
  return found;
}

}  // namespace headrace
