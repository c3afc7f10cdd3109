#pragma once

/// \file Rejected rows: how many are allowed, and how messages name them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/prepare/source/input.h"

namespace headrace {

/// How many rows may be rejected: a number, or a share of all rows.
struct RejectLimit {
  std::uint64_t rows = 0;
  std::optional<double> share{};

  std::uint64_t of(std::uint64_t all) const {
    return share ? static_cast<std::uint64_t>(*share * static_cast<double>(all)) : rows;
  }
  /// The limit for one task, which does not know the number of all rows. A share does not limit a task.
  std::uint64_t of_one_task() const { return share ? ~std::uint64_t{0} : rows; }
};

/// The reason for the second and later rows with the same id in one split.
inline constexpr std::string_view kRepeatedId = "the id occurs twice";
/// The reason for a row whose id also occurs in a smaller split (other_splits.h).
inline constexpr std::string_view kIdOfOtherSplit = "the id occurs in another split";

/// The URL of the file that holds a row of the slice, or the name of a slice of another kind of input. Empty
/// for objects of a folder, whose ids name them.
/// REQUIRES: the place belongs to the slice
std::string source_of(const Slice& slice, RowPlace place);
/// The base for relative URLs in that row (RFC 3986, section 5.1): the file's URL, or empty.
std::string base_of(const Slice& slice, RowPlace place);

/// "<id> in <file>, row 7"; for an object of a folder, only the id.
std::string describe_row(std::string_view id, const Slice& slice, RowPlace place);
/// As describe_row, with " is rejected: <reason> (<detail>)".
std::string describe_rejection(std::string_view id, const Slice& slice, RowPlace place,
                               std::string_view reason, std::string_view detail);

/// The reason for rejecting a row because of one reference. The error comes from FetchedReference or
/// resolve_url.
std::string reason_of_fetch(const Error& error);

/// The error for more rejected rows than allowed. `first`: describe_rejection of the first rejected row.
Error too_many_rejects(std::string_view first, std::uint64_t allowed);
Error too_many_rejects(std::string_view first, std::uint64_t rejected, std::uint64_t all,
                       std::uint64_t allowed);

}  // namespace headrace
