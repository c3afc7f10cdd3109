#include "headrace/store/numbered.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Up to this number, the keys of all larger numbers sort after a number's own key: "00000010", "12345678",
// "100000000".
constexpr std::uint64_t kLastThatSorts = 9'999'999;

}  // namespace

std::string numbered_key(std::string_view prefix, std::uint64_t number) {
  return concat(prefix, zero_padded(number, 8));
}

std::optional<std::uint64_t> number_of_digits(std::string_view digits) {
  const auto number = parse_number<std::uint64_t>(digits);
  const bool is_number = number && *number > 0 && *number <= kLargestNumber;
  return is_number && numbered_key("", *number) == digits ? number : std::nullopt;
}

Result<std::vector<std::uint64_t>> present_numbers(Store& store, std::string_view prefix,
                                                   const CallOptions& call) {
  std::vector<std::uint64_t> numbers;
  HEADRACE_CHECK(store.list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const auto number = number_of_digits(std::string_view(object.key).substr(prefix.size()));
    if (number) numbers.push_back(*number);
    return true;
  }));
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::optional<std::uint64_t>> latest_number(Store& store, std::string_view prefix,
                                                   const CallOptions& call) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, present_numbers(store, prefix, call));
  return numbers.empty() ? std::nullopt : std::optional(numbers.back());
}

Result<std::map<std::string, LatestNumber>> latest_numbers(Store& store, std::string_view prefix,
                                                           const CallOptions& call) {
  std::map<std::string, LatestNumber> latest;
  HEADRACE_CHECK(store.list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view rest = std::string_view(object.key).substr(prefix.size());
    const std::size_t slash = rest.find('/');
    if (slash == rest.npos) return true;
    const auto number = number_of_digits(rest.substr(slash + 1));
    if (!number) return true;
    LatestNumber& known = latest[std::string(rest.substr(0, slash))];
    if (*number > known.number) known = {*number, object.size_bytes};
    return true;
  }));
  return latest;
}

Result<bool> has_number_after(Store& store, std::string_view prefix, std::uint64_t number,
                              const CallOptions& call) {
  ListOptions options{.call = call};
  if (number <= kLastThatSorts) options.after = numbered_key(prefix, number);
  bool found = false;
  HEADRACE_CHECK(store.list(prefix, options, [&](const ObjectInfo& object) {
    const auto present = number_of_digits(std::string_view(object.key).substr(prefix.size()));
    found = present && *present > number;
    return !found;
  }));
  return found;
}

Result<std::optional<NumberedObject>> read_latest(Store& store, std::string_view prefix,
                                                  std::uint64_t limit_bytes, const CallOptions& call) {
  HEADRACE_TRY(const std::optional<std::uint64_t> number, latest_number(store, prefix, call));
  if (!number) return std::optional<NumberedObject>();
  HEADRACE_TRY(ReadObject read, read_object(store, numbered_key(prefix, *number), limit_bytes, call));
  return std::optional(NumberedObject{*number, std::move(read.data), std::move(read.object)});
}

Result<ObjectInfo> create_numbered(Store& store, std::string_view prefix, std::uint64_t number,
                                   BytesView data, const CallOptions& call) {
  if (number > kLargestNumber) {
    return Error{Code::kResourceExhausted,
                 concat(store.describe(numbered_key(prefix, kLargestNumber)),
                        " has the largest possible number, so no object can follow it; Headrace never counts "
                        "that far: find out who created it, and remove it")};
  }
  return store.write(numbered_key(prefix, number), data, {.only_if_absent = true, .call = call});
}

}  // namespace headrace
