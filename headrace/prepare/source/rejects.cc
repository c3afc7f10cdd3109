#include "headrace/prepare/source/rejects.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kWhatToDo = " allowed; correct the input, or allow some with --max-rejects";

}  // namespace

std::string source_of(const Slice& slice, RowPlace place) {
  return slice.files.empty() ? slice.name : slice.files[place.file].url;
}

std::string base_of(const Slice& slice, RowPlace place) {
  return slice.files.empty() ? std::string() : slice.files[place.file].url;
}

std::string describe_row(std::string_view id, const Slice& slice, RowPlace place) {
  const std::string source = source_of(slice, place);
  return concat(id, source.empty() ? "" : concat(" in ", source, ", row ", place.row));
}

std::string describe_rejection(std::string_view id, const Slice& slice, RowPlace place,
                               std::string_view reason, std::string_view detail) {
  return concat(describe_row(id, slice, place), " is rejected: ", reason,
                detail.empty() ? "" : concat(" (", detail, ")"));
}

Error too_many_rejects(std::string_view first, std::uint64_t allowed) {
  return {Code::kInvalidArgument, concat(first, ". More rows are rejected than the ", allowed, kWhatToDo)};
}

Error too_many_rejects(std::string_view first, std::uint64_t rejected, std::uint64_t all,
                       std::uint64_t allowed) {
  return {Code::kInvalidArgument, concat(first, ". In all ", rejected, " of ", all,
                                         " rows are rejected, more than the ", allowed, kWhatToDo)};
}

std::string reason_of_fetch(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return "not there";
    case Code::kPermissionDenied:
      return "may not be read";
    case Code::kResourceExhausted:
      return "larger than --max-cell";
    default:
      return "no URL that can be read";
  }
}

}  // namespace headrace
