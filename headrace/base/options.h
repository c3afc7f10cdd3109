#pragma once

/// \file Options, declared once as data: command-line flags, Python keyword arguments, the reference
/// documentation and the error for a misspelt name all come from one table.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

enum class OptionType : std::uint8_t {
  kText,
  kInteger,
  kNumber,
  kSize,      // bytes, with a prefix: "300MB", "1GiB"
  kFlag,      // present or not
  kTextList,  // may be given several times
};

struct Option {
  std::string_view name;  // "batch-size"
  OptionType type = OptionType::kText;
  /// As it would be typed; empty: none, and the option is absent unless given.
  std::string_view default_value = "";
  /// The unit of the value, or the thing that it stands for: "records", "URL".
  std::string_view unit = "";
  /// One sentence that says what the option does.
  std::string_view sentence = "";
  double minimum = std::numeric_limits<double>::lowest();
  double maximum = std::numeric_limits<double>::max();
  /// Allowed texts, separated by '|'; empty: any.
  std::string_view choices = "";
  /// A short form, "-r"; 0: none. Those of flags may be typed together, "-ry".
  char letter = 0;
  /// The environment variable that means the same; empty: none.
  std::string_view variable = "";
};

/// "from 1 to 64", "at least 1", "at most 1.1 MB"; empty if any value will do.
std::string allowed_range(const Option& option);

/// Values of one table's options, checked. Asking for a name that the table lacks, or under another type, is
/// a programming error and ends in std::logic_error.
class OptionValues {
 public:
  /// The table must outlive the values; defaults are filled in.
  explicit OptionValues(std::span<const Option> table);

  /// Sets one from its text.
  /// \error kInvalidArgument  unknown name (the nearest is suggested), wrong type, or out of range: the
  ///                          message says what is allowed
  Status set(std::string_view name, std::string_view text);

  std::span<const Option> table() const { return table_; }
  bool has(std::string_view name) const;
  /// True if it was set, not defaulted.
  bool given(std::string_view name) const;
  /// The value as it was typed, of any type; a list's values joined by ", ".
  std::string shown(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::uint64_t size_bytes(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;

 private:
  struct Value {
    std::vector<std::string> texts;
    double number = 0;
    std::int64_t integer = 0;
    bool given = false;
  };
  const Option& declaration(std::string_view name) const;
  const Value& value(std::string_view name, OptionType type) const;

  std::span<const Option> table_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace headrace
