#pragma once

/// \file The few texts among the numbers of a column, which make the column one of texts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Cells of one column. Memory: some short texts.
class OddTexts {
 public:
  void add_number() { ++numbers_; }
  /// Adds a text that is no number. `place` says where the cell is: "row 7 of table.csv".
  void add_text(std::string_view text, std::string_view place);

  /// Whether the texts may still turn out to be few.
  bool may_be_few() const { return have_decimal_comma_ || texts_ <= numbers_ + kAlwaysCounted; }

  /// If there are fewer texts than numbers, or all texts are numbers with a decimal comma: names the first of
  /// them, and the option by which the column would be one of numbers.
  std::optional<std::string> remark(std::string_view column) const;

 private:
  static constexpr std::uint64_t kAlwaysCounted = 16;

  std::string option() const;

  std::uint64_t numbers_ = 0;
  std::uint64_t texts_ = 0;
  std::string first_text_;
  std::string first_place_;
  std::vector<std::string> different_{};  // texts, as long as they are few
  bool have_decimal_comma_ = true;        // each is a number with a decimal comma
  bool has_large_number_ = false;         // one is a whole number too large for int64
};

}  // namespace headrace
