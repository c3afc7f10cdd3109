#pragma once

/// \file TOML 1.0 as values, and a reader of tables that knows all their keys. Wraps toml++, which is slow to
/// compile.
///
///   HEADRACE_TRY(const TomlTable table, parse_toml(text, "serving.toml"));
///   TomlKeys keys(table, "", "serving.toml");
///   HEADRACE_CHECK(keys.integer("lanes", 1, 256, lanes));
///   HEADRACE_CHECK(keys.finish());  // "serving.toml, line 3: lane is not known here; did you mean lanes?"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/base/text.h"

namespace headrace {

struct TomlNode;
struct TomlEntry;

struct TomlTable {
  // Elsewhere, since TomlEntry is not complete here.
  TomlTable();
  ~TomlTable();
  TomlTable(const TomlTable& other);
  TomlTable(TomlTable&& other) noexcept;
  TomlTable& operator=(const TomlTable& other);
  TomlTable& operator=(TomlTable&& other) noexcept;

  std::vector<TomlEntry> entries;  // ascending by key
  /// Null: there is no such key.
  const TomlNode* find(std::string_view key) const;
};
using TomlArray = std::vector<TomlNode>;
/// Dates and times have no value here.
using TomlValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, TomlArray, TomlTable>;

struct TomlNode {
  std::uint64_t line = 0;  // from 1
  TomlValue value{};

  /// Null: it is something else.
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  /// A float, or an integer.
  std::optional<double> number() const;
};

struct TomlEntry {
  std::string key;
  TomlNode node;
};

/// A byte order mark is passed over. `source_name` is for messages.
/// \error kInvalidArgument  it is no TOML, or a value has more than 1,000 dots and brackets outside of texts,
///                          so that it may nest too deep: names the line
Result<TomlTable> parse_toml(std::string_view text, std::string_view source_name);

/// "text", with what TOML wants escaped.
std::string quoted_toml(std::string_view text);
/// ["a text", "another"].
std::string quoted_toml(const std::vector<std::string>& texts);

/// Words of a file, and what they mean.
template <typename Value, std::size_t kCount>
using TomlWords = std::array<std::pair<std::string_view, Value>, kCount>;

/// Reads a table of which every key has to be asked for. A key that is not there leaves the value as it is.
/// Errors are kInvalidArgument; they name the source, the line, the table, the key, and what is allowed.
class TomlKeys {
 public:
  /// Borrows the table and `source_name`. `name`: the table in messages, as in "[models.imdb]", or empty.
  TomlKeys(const TomlTable& table, std::string name, std::string_view source_name)
      : table_(table), name_(std::move(name)), source_name_(source_name) {}

  /// Null: it is not there.
  const TomlNode* find(std::string_view key);
  Error error(const TomlNode& node, std::string_view key, std::string_view what) const;

  /// Not empty.
  Status text(std::string_view key, std::string& value);
  Status text(std::string_view key, std::optional<std::string>& value);
  Status flag(std::string_view key, bool& value);
  template <typename Integer>
  Status integer(std::string_view key, std::int64_t least, std::int64_t most, Integer& value) {
    const TomlNode* const node = find(key);
    if (node == nullptr) return {};
    const auto* const found = node->get<std::int64_t>();
    if (found == nullptr || *found < least || *found > most)
      return error(*node, key, concat("must be a whole number from ", least, " to ", most));
    value = static_cast<Integer>(*found);
    return {};
  }
  /// At least one, all different.
  Status texts(std::string_view key, std::vector<std::string>& values);
  /// `count` whole numbers, which `what` names, as in "[height, width]".
  template <std::size_t kCount>
  Status integers(std::string_view key, std::string_view what, std::int64_t least, std::int64_t most,
                  std::optional<std::array<std::int64_t, kCount>>& values) {
    const TomlNode* const node = find(key);
    if (node == nullptr) return {};
    const auto* const array = node->get<TomlArray>();
    const Error wrong = error(*node, key, concat("must be ", what, ", from ", least, " to ", most));
    if (array == nullptr || array->size() != kCount) return wrong;
    std::array<std::int64_t, kCount> found{};
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto* const value = (*array)[i].get<std::int64_t>();
      if (value == nullptr || *value < least || *value > most) return wrong;
      found[i] = *value;
    }
    values = found;
    return {};
  }
  /// One of the words.
  template <typename Value, std::size_t kCount>
  Status word(std::string_view key, const TomlWords<Value, kCount>& words, Value& value) {
    const TomlNode* const node = find(key);
    if (node == nullptr) return {};
    const auto* const text = node->get<std::string>();
    std::vector<std::string> choices;
    for (const auto& [choice, meaning] : words) {
      if (text != nullptr && *text == choice) {
        value = meaning;
        return {};
      }
      choices.emplace_back(choice);
    }
    return error(*node, key,
                 text != nullptr ? concat("is \"", *text, "\"", or_nearest(*text, choices))
                                 : concat("must be one of ", join(choices, ", ")));
  }

  /// \error kInvalidArgument  there are keys that nobody has asked for
  Status finish() const;

  /// "; did you mean …?", or "; there are …".
  static std::string or_nearest(std::string_view word, const std::vector<std::string>& names);

 private:
  const TomlTable& table_;
  const std::string name_;
  const std::string_view source_name_;
  std::vector<std::string> known_;
};

}  // namespace headrace
