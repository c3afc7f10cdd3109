#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/source/folder_digest.h"
#include "headrace/prepare/source/ignite_cache_input.h"
#include "headrace/prepare/source/ignite_input.h"
#include "headrace/prepare/source/input_kind.h"

namespace headrace {

InputKinds input_kinds() {
  // The only list of kinds.
  static const InputKind* const kinds[] = {
      &stored_input_kind(),
      &ignite_sql_input_kind(),
      &ignite_cache_input_kind(),
  };
  return kinds;
}

namespace {

// Returns the kind with that name; null if there is none, or if it is the kind of stored input.
const InputKind* other_kind(InputKinds kinds, std::string_view name) {
  const auto found = std::ranges::find_if(
      kinds, [&](const InputKind* kind) { return kind != &stored_input_kind() && kind->name() == name; });
  return found == kinds.end() ? nullptr : *found;
}

}  // namespace

InputPlace::InputPlace(Location of_store)
    : kind(&stored_input_kind()), url(of_store.url), location(std::move(of_store)) {}

Result<InputPlace> open_input_place(std::string_view text, StoreRegistry& stores, InputKinds kinds) {
  if (const InputKind* const kind = other_kind(kinds, scheme_of(text))) {
    HEADRACE_TRY(Url url, parse_url(text, "", kind->url_form()));
    return InputPlace(*kind, std::move(url), stores.environment());
  }
  if (scheme_of(text).empty()) {
    std::vector<std::string> names;
    for (const InputKind* kind : kinds) {
      if (kind != &stored_input_kind()) names.emplace_back(kind->name());
    }
    HEADRACE_CHECK(check_not_misspelt_url(text, names));
  }
  HEADRACE_TRY(Location location, stores.open(text));
  return InputPlace(std::move(location));
}

Result<Input> find_input(const InputPlace& place, const InputRequest& request) {
  const bool is_stored = place.kind == &stored_input_kind();
  if (!is_stored && request.format && *request.format != InputFormat::kRows) {
    return Error{Code::kInvalidArgument,
                 concat(place.describe(), " is ", place.kind->name(), ", which describes its own rows; ",
                        "the format ", input_format_name(*request.format), " is for files: leave it out")};
  }
  return place.kind->find(place, request);
}

Result<Input> input_of_slices(const InputPlace& place, std::vector<Slice> slices,
                              const InputRequest& request) {
  std::set<std::string_view> names;
  for (const Slice& slice : slices) {
    if (slice.name.empty() || !names.insert(slice.name).second)
      return Error{Code::kInternal, concat(place.describe(), ": two slices are named \"", slice.name, "\"")};
  }
  if (request.only != nullptr)
    std::erase_if(slices, [&](const Slice& slice) { return !request.only->has(slice.name); });
  Input input{.kind = place.kind, .format = InputFormat::kRows, .url = place.url.text()};
  FolderDigest digest;
  for (Slice& slice : slices) {
    slice.objects = 1;
    ++input.objects;
    input.size_bytes += slice.size_bytes;
    digest.add({.key = slice.name, .size_bytes = slice.size_bytes, .version = Version{slice.digest}});
  }
  input.version = digest.finish();
  input.slices = std::move(slices);
  return input;
}

std::string_view input_name(const Input& input) {
  return input.format == InputFormat::kRows ? input.kind->name() : input_format_name(input.format);
}

Status set_input_name(Input& input, std::string_view name, InputKinds kinds) {
  if (const InputKind* const kind = other_kind(kinds, name)) {
    input.kind = kind;
    input.format = InputFormat::kRows;
    return {};
  }
  HEADRACE_TRY(input.format, parse_input_format(name));
  return {};
}

}  // namespace headrace
