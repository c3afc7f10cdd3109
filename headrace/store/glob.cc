#include "headrace/store/glob.h"

#include <algorithm>
#include <string>

namespace headrace {
namespace {

constexpr std::string_view kSpecial = "*?[";

// One item of a pattern, which stands for one character, or (a star) for any number of them.
struct Item {
  enum class Kind { kLiteral, kAnyOne, kSet, kStar, kDoubleStar } kind = Kind::kLiteral;
  std::string_view text;  // of a literal its character, of a set what is between the brackets

  bool is_star() const { return kind == Kind::kStar || kind == Kind::kDoubleStar; }
};

bool is_in_set(std::string_view set, char c) {
  const bool inverted = set.starts_with('!') || set.starts_with('^');
  if (inverted) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  return found != inverted;
}

std::vector<Item> parse_pattern(std::string_view pattern) {
  std::vector<Item> items;
  while (!pattern.empty()) {
    std::size_t length = 1;
    Item item{.text = pattern.substr(0, 1)};
    if (pattern.starts_with("**")) {
      item.kind = Item::Kind::kDoubleStar, length = 2;
    } else if (pattern[0] == '*') {
      item.kind = Item::Kind::kStar;
    } else if (pattern[0] == '?') {
      item.kind = Item::Kind::kAnyOne;
    } else if (pattern[0] == '\\' && pattern.size() > 1) {
      item.text = pattern.substr(1, 1), length = 2;
    } else if (const std::size_t end = pattern.find(']', 2); pattern[0] == '[' && end != pattern.npos) {
      item = {Item::Kind::kSet, pattern.substr(1, end - 1)}, length = end + 1;
    }
    items.push_back(item);
    pattern.remove_prefix(length);
  }
  return items;
}

bool stands_for(const Item& item, char c) {
  switch (item.kind) {
    case Item::Kind::kLiteral:
      return item.text[0] == c;
    case Item::Kind::kAnyOne:
    case Item::Kind::kStar:
      return c != '/';
    case Item::Kind::kSet:
      return c != '/' && is_in_set(item.text, c);
    case Item::Kind::kDoubleStar:
      break;
  }
  return true;
}

}  // namespace

bool is_pattern(std::string_view text) { return text.find_first_of(kSpecial) != text.npos; }

// Which items may come next, after each character: linear in the key for each item.
bool matches_pattern(std::string_view pattern, std::string_view key) {
  const std::vector<Item> items = parse_pattern(pattern);
  std::vector<bool> at(items.size() + 1);
  const auto skip_stars = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (at[i] && items[i].is_star()) at[i + 1] = true;
    }
  };
  at[0] = true;
  skip_stars();
  for (const char c : key) {
    std::vector<bool> after(items.size() + 1);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (at[i] && stands_for(items[i], c)) after[items[i].is_star() ? i : i + 1] = true;
    }
    at = std::move(after);
    skip_stars();
  }
  return at.back();
}

std::string_view literal_prefix(std::string_view pattern) {
  return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

Result<std::vector<ObjectInfo>> find_objects(Store& store, std::string_view pattern,
                                             const CallOptions& call) {
  std::vector<ObjectInfo> found;
  HEADRACE_CHECK(store.list(literal_prefix(pattern), {.call = call}, [&](const ObjectInfo& object) {
    if (matches_pattern(pattern, object.key)) found.push_back(object);
    return true;
  }));
  return found;
}

}  // namespace headrace
