#include "headrace/store/glob.h"

#include <algorithm>
#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kSpecial = "*?[";

// One item of a pattern. It matches one character or, if it is a star, any number of characters. kOptional
// comes before the two items of a whole segment "**/", and says that these may match nothing.
struct Item {
  enum class Kind { kLiteral, kAnyOne, kSet, kStar, kDoubleStar, kOptional } kind = Kind::kLiteral;
  std::string_view text;  // of a literal: its character; of a set: the text between the brackets

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
  bool segment_begins = true;
  while (!pattern.empty()) {
    if (segment_begins && pattern.starts_with("**/")) items.push_back({Item::Kind::kOptional, {}});
    segment_begins = pattern[0] == '/';
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
      return true;
    case Item::Kind::kOptional:
      break;
  }
  return false;
}

}  // namespace

bool is_pattern(std::string_view text) { return text.find_first_of(kSpecial) != text.npos; }

bool has_wildcards(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '*' || text[i] == '?') {
      return true;
    }
  }
  return false;
}

std::string literal_name(std::string_view text) {
  if (!is_pattern(text)) return std::string(text);
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size() &&
                         std::string_view("*?[]\\").find(text[i + 1]) != std::string_view::npos;
    name += text[escapes ? ++i : i];
  }
  return name;
}

// Keeps the set of items that may come next after each character, so the time for each item is linear in the
// key.
bool matches_pattern(std::string_view pattern, std::string_view key) {
  const std::vector<Item> items = parse_pattern(pattern);
  std::vector<bool> at(items.size() + 1);
  const auto skip_stars = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!at[i]) continue;
      if (items[i].is_star() || items[i].kind == Item::Kind::kOptional) at[i + 1] = true;
      if (items[i].kind == Item::Kind::kOptional) at[i + 3] = true;
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

std::string_view literal_folder(std::string_view pattern) {
  const std::string_view prefix = literal_prefix(pattern);
  const std::size_t slash = prefix.rfind('/');
  return slash == prefix.npos ? "" : prefix.substr(0, slash);
}

namespace {

// Walks through the folders that a pattern describes.
class Walk {
 public:
  Walk(Store& store, const MatchOptions& options, const std::function<bool(const ObjectInfo&)>& visit)
      : store_(store), options_(options), visit_(visit) {}

  // Visits the matches of `pattern` below `folder`, which is empty or ends in '/'.
  Status below(const std::string& folder, std::string_view pattern) {
    const std::size_t slash = pattern.find('/');
    const bool is_last = slash == pattern.npos;
    const std::string_view segment = pattern.substr(0, slash);
    const bool is_deep = segment.find("**") != segment.npos;
    if (is_deep || is_last) return list(folder, is_deep ? pattern : segment, is_deep, {});
    const std::string_view rest = pattern.substr(slash + 1);
    if (!is_pattern(segment) && segment.find('\\') == segment.npos)
      return below(concat(folder, segment, "/"), rest);
    return list(folder, segment, false, rest);
  }

 private:
  Status list(const std::string& folder, std::string_view pattern, bool is_deep, std::string_view rest) {
    Status status;
    HEADRACE_CHECK(store_.list(concat(folder, literal_prefix(pattern)),
                               {.collapse_folders = !is_deep, .call = options_.call},
                               [&](const ObjectInfo& entry) {
                                 std::string_view name = std::string_view(entry.key).substr(folder.size());
                                 if (entry.is_folder()) name.remove_suffix(1);
                                 if (matches_pattern(pattern, name)) status = found(entry, rest);
                                 return status.has_value() && !has_ended_;
                               }));
    return status;
  }

  Status found(const ObjectInfo& entry, std::string_view rest) {
    if (!rest.empty()) return entry.is_folder() ? below(entry.key, rest) : Status();
    if (!entry.is_folder() || options_.with_folders) has_ended_ = !visit_(entry);
    return {};
  }

  Store& store_;
  const MatchOptions& options_;
  const std::function<bool(const ObjectInfo&)>& visit_;
  bool has_ended_ = false;
};

}  // namespace

Status visit_matches(Store& store, std::string_view pattern, const MatchOptions& options,
                     const std::function<bool(const ObjectInfo&)>& visit) {
  return Walk(store, options, visit).below("", pattern);
}

Result<std::vector<ObjectInfo>> find_objects(Store& store, std::string_view pattern,
                                             const CallOptions& call) {
  std::vector<ObjectInfo> found;
  HEADRACE_CHECK(visit_matches(store, pattern, {.call = call}, [&](const ObjectInfo& object) {
    found.push_back(object);
    return true;
  }));
  return found;
}

}  // namespace headrace
