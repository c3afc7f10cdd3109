#include "headrace/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Library = nlohmann::json;

// The length to which a message shortens a number or a name.
constexpr std::size_t kQuotedBytes = 60;

// The offset of a bracket outside of strings that opens a level too many.
std::optional<std::size_t> find_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string && character == '\\') {
      ++i;
    } else if (character == '"') {
      in_string = !in_string;
    } else if (in_string) {
      continue;
    } else if (character == '[' || character == '{') {
      if (++depth > kJsonDepthLimit) return i;
    } else if (character == ']' || character == '}') {
      --depth;
    }
  }
  return std::nullopt;
}

// The callbacks of the library's parser. Builds no value, and keeps the parser's error.
struct Checker {
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t) { return true; }
  bool number_unsigned(std::uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Library::binary_t&) { return true; }
  bool start_object(std::size_t) { return true; }
  bool key(std::string&) { return true; }
  bool end_object() { return true; }
  bool start_array(std::size_t) { return true; }
  bool end_array() { return true; }
  bool parse_error(std::size_t, const std::string&, const Library::exception& error) {
    constexpr int kNumberOverflow = 406;
    fault.kind = error.id == kNumberOverflow ? JsonFault::Kind::kNumberTooLarge : JsonFault::Kind::kNoJson;
    std::string_view words = error.what();
    for (const std::string_view beginning : {"] ", "parse error at "}) {
      const std::size_t found = words.find(beginning);
      if (found != words.npos) words.remove_prefix(found + beginning.size());
    }
    fault.message = words;
    return false;
  }

  JsonFault fault{};
};

// Builds the value, too.
struct Builder : Checker {
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool start_object(std::size_t) { return begin(Json::object()); }
  bool key(std::string& value) {
    name = std::move(value);
    return true;
  }
  bool end_object() { return end(); }
  bool start_array(std::size_t) { return begin(Json::array()); }
  bool end_array() { return end(); }

  Json& place(Json value) {
    if (open.empty()) return root = std::move(value);
    if (open.back()->is_object()) return (*open.back())[name] = std::move(value);
    return open.back()->values().emplace_back(std::move(value));
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool begin(Json value) {
    open.push_back(&place(std::move(value)));
    return true;
  }
  bool end() {
    open.pop_back();
    return true;
  }

  Json root;
  std::vector<Json*> open;  // outermost first; only the innermost grows, so the pointers stay valid
  std::string name;
};

template <typename Handler>
std::optional<JsonFault> feed(std::string_view text, Handler& handler) {
  if (const auto offset = find_too_deep(text)) {
    return JsonFault{JsonFault::Kind::kTooDeep,
                     concat("the JSON text nests deeper than ", kJsonDepthLimit, " levels at offset ",
                            *offset, ", which Headrace never writes")};
  }
  if (Library::sax_parse(text.begin(), text.end(), &handler)) return std::nullopt;
  return std::move(handler.fault);
}

void append_string(std::string& out, const std::string& text) {
  const bool is_plain = std::ranges::all_of(
      text, [](char byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; });
  if (is_plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += Library(text).dump(-1, ' ', false, Library::error_handler_t::replace);
  }
}

}  // namespace

Json::Json(std::initializer_list<Member> members) {
  Object object;
  for (const Member& member : members) object.insert_or_assign(member.name, member.value);
  value_ = Box<Object>(std::move(object));
}
Json::Json(std::string text) : value_(Box<std::string>(std::move(text))) {}
Json::Json(Array values) : value_(Box<Array>(std::move(values))) {}
Json::Json(Object members) : value_(Box<Object>(std::move(members))) {}
Json::Json(const Json& other) = default;
Json& Json::operator=(const Json& other) { return *this = Json(other); }  // `other` may be a part of this
Json& Json::operator=(Json&& other) noexcept {
  auto value = std::exchange(other.value_, nullptr);  // `other` may be a part of this
  value_ = std::move(value);
  return *this;
}
Json::~Json() = default;

void Json::refuse(std::string_view what, std::string_view wanted) const {
  constexpr std::string_view kNames[] = {"null", "a boolean", "", "", "", "a text", "an array", "an object"};
  const std::string found = is_number() ? dump() : std::string(kNames[value_.index()]);
  throw JsonError(concat(what, " is ", printable_line(found, kQuotedBytes), ", which is not ", wanted));
}

template <typename T>
const T& Json::boxed(std::string_view wanted) const {
  if (const auto* found = std::get_if<Box<T>>(&value_)) return **found;
  refuse("a value", wanted);
}

const std::string& Json::text() const& { return boxed<std::string>("a text"); }
const Json::Array& Json::values() const& { return boxed<Array>("an array"); }
const Json::Object& Json::members() const& { return boxed<Object>("an object"); }
Json::Array& Json::values() & { return const_cast<Array&>(std::as_const(*this).values()); }
Json::Object& Json::members() & { return const_cast<Object&>(std::as_const(*this).members()); }

bool Json::as_bool(std::string_view what) const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  refuse(what, "a boolean");
}

double Json::as_double(std::string_view what) const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  refuse(what, "a number");
}

const Json& Json::at(std::string_view name) const {
  const Object& all = members();
  const auto found = all.find(name);
  if (found == all.end()) throw JsonError(concat("there is no ", printable_line(name, kQuotedBytes)));
  return found->second;
}

const Json& Json::at(std::size_t index) const {
  const Array& all = values();
  if (index >= all.size())
    throw JsonError(concat("an array has ", all.size(), " values, so it has no value ", index));
  return all[index];
}

bool Json::contains(std::string_view name) const { return is_object() && members().contains(name); }

const Json& Json::operator[](std::string_view name) const {
  static const Json kNull;
  return contains(name) ? at(name) : kNull;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = object();
  Object& all = members();
  const auto found = all.lower_bound(name);
  if (found != all.end() && found->first == name) return found->second;
  return all.emplace_hint(found, name, Json())->second;
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  values().push_back(std::move(value));
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_string() && b.is_string()) return a.text() == b.text();
  if (a.is_array() && b.is_array()) return a.values() == b.values();
  if (a.is_object() && b.is_object()) return a.members() == b.members();
  if (a.value_.index() == b.value_.index()) {
    if (const auto* value = std::get_if<bool>(&a.value_)) return *value == std::get<bool>(b.value_);
    if (const auto* value = std::get_if<std::uint64_t>(&a.value_))
      return *value == std::get<std::uint64_t>(b.value_);
    if (const auto* value = std::get_if<std::int64_t>(&a.value_))
      return *value == std::get<std::int64_t>(b.value_);
  }
  // An unsigned and a signed integer are never equal, because only negative integers are signed.
  if (a.is_number() && b.is_number())
    return a.as_double("") == b.as_double("") && !(a.is_integer() && b.is_integer());
  return a.is_null() && b.is_null();
}

void Json::append_to(std::string& out) const {
  if (is_null()) {
    out += "null";
  } else if (const auto* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* unsigned_number = std::get_if<std::uint64_t>(&value_)) {
    out += concat(*unsigned_number);
  } else if (const auto* signed_number = std::get_if<std::int64_t>(&value_)) {
    out += concat(*signed_number);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    out += Library(*number).dump();
  } else if (is_string()) {
    append_string(out, text());
  } else if (is_array()) {
    out += '[';
    for (std::string_view separator = ""; const Json& value : values()) {
      out += std::exchange(separator, ",");
      value.append_to(out);
    }
    out += ']';
  } else {
    out += '{';
    for (std::string_view separator = ""; const auto& [name, value] : members()) {
      out += std::exchange(separator, ",");
      append_string(out, name);
      out += ':';
      value.append_to(out);
    }
    out += '}';
  }
}

std::string Json::dump() const {
  std::string out;
  append_to(out);
  return out;
}

Result<Json> parse_json(std::string_view text) {
  Builder builder;
  if (const auto fault = feed(text, builder)) {
    const bool is_deep = fault->kind == JsonFault::Kind::kTooDeep;
    return Error{Code::kDataLoss, is_deep ? fault->message : concat("not JSON: ", fault->message)};
  }
  return std::move(builder.root);
}

std::optional<JsonFault> find_json_fault(std::string_view text) {
  Checker checker;
  return feed(text, checker);
}

}  // namespace headrace
