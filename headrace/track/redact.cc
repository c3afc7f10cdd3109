#include "headrace/track/redact.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kMask = "***";
// A name is secret if it contains a word of kAnywhere or ends with a word of kAtTheEnd, without separators.
constexpr std::array<std::string_view, 8> kAnywhere = {"password", "passwd",     "passphrase", "passcode",
                                                       "secret",   "credential", "apikey",     "privatekey"};
constexpr std::array<std::string_view, 17> kAtTheEnd = {
    "token",         "signature", "pass",       "pwd",       "auth",       "authorization",
    "cookie",        "bearer",    "jwt",        "accesskey", "accountkey", "customerkey",
    "encryptionkey", "masterkey", "sessionkey", "sharedkey", "signingkey"};
// Names of headers, and schemes that a value may begin with: the rest of the line is secret.
constexpr std::array<std::string_view, 3> kLongNames = {"auth", "authorization", "cookie"};
constexpr std::array<std::string_view, 7> kSchemes = {"basic",     "bearer", "digest",          "negotiate",
                                                      "signature", "token",  "aws4-hmac-sha256"};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_name_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == '[' || c == ']';
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_separator(char c) { return c == '=' || c == ':'; }

// Turns "dbPassword2" and "DB-PASSWORD" into "dbpassword".
std::string without_separators(std::string_view name) {
  std::string plain;
  for (const char c : to_lower(name)) {
    if (is_alphanumeric(c)) plain += c;
  }
  while (!plain.empty() && plain.back() >= '0' && plain.back() <= '9') plain.pop_back();
  return plain;
}

bool has_long_value(std::string_view name) {
  const std::string plain = without_separators(name);
  return std::ranges::any_of(kLongNames, [&](std::string_view end) { return plain.ends_with(end); });
}

// The name that ends at the end of `text`.
std::string_view last_name(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  return text.substr(begin);
}

// The name before '=' or ':'.
struct Name {
  std::string_view text;
  std::size_t begin = 0;
  bool is_quoted = false;  // as in JSON
};

Name name_before(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.empty() || !is_quote(text.back())) {
    const std::string_view name = last_name(text);
    return {name, text.size() - name.size()};
  }
  const char quote = text.back();
  text.remove_suffix(1);
  const std::size_t before = text.rfind(quote);
  const std::size_t begin = before == text.npos ? 0 : before + 1;
  return {text.substr(begin), begin, true};
}

// Where the user info of a URL ends: at the last '@' of the authority. If the authority has no '@', and the
// text after its ':' is not a port, the user info ends at the last '@' of the URL: somebody wrote a password
// without escaping it.
std::size_t end_of_user_info(std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) return at;
  const std::size_t colon = authority.starts_with('[') ? authority.npos : authority.find(':');
  if (colon == authority.npos) return authority.npos;
  const std::string_view port = authority.substr(colon + 1);
  const bool is_port = !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  return is_port ? port.npos : rest.rfind('@');
}

// Turns "a;password=b/c" in a path into "a;password=***/c".
std::string redact_path(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size();) {
    out += path[i++];
    if (out.back() != '=' || !names_a_secret(last_name(path.substr(0, i - 1)))) continue;
    out += kMask;
    i = std::min(path.find('/', i), path.size());
  }
  return out;
}

// Masks each value of a query, and the values of secrets after '#'.
std::string redact_query(std::string_view query) {
  const bool has_query = query.starts_with('?');
  std::string out;
  for (std::size_t i = 0; i < query.size();) {
    out += query[i++];
    if (out.back() != '=') continue;
    const bool is_secret = names_a_secret(last_name(query.substr(0, i - 1)));
    if (!has_query && !is_secret) continue;
    out += kMask;
    i = std::min(query.find_first_of(is_secret ? "&" : "&#", i), query.size());
  }
  return out;
}

// Redacts one URL, given without its scheme.
std::string redact_url_rest(std::string_view rest) {
  const std::size_t path_end = std::min(rest.find_first_of("?#"), rest.size());
  const std::string masked = concat(redact_path(rest.substr(0, path_end)), rest.substr(path_end));
  std::string_view left = masked;
  std::string out;
  if (const std::size_t at = end_of_user_info(left); at != left.npos) {
    out = kMask;
    left.remove_prefix(at);
  }
  const std::size_t query = std::min(left.find_first_of("?#"), left.size());
  return concat(out, left.substr(0, query), redact_query(left.substr(query)));
}

// Copies a text in one pass, and masks its secrets.
class Redactor {
 public:
  explicit Redactor(std::string_view text) : text_(text), first_quotes_{text.find('"'), text.find('\'')} {}

  std::string run() {
    while (at_ < text_.size()) {
      if (rest().starts_with("://")) {
        mask_url();
      } else if (is_separator(text_[at_])) {
        pass_separator();
      } else if (is_blank(text_[at_])) {
        pass_blank();
      } else {
        copy_until(at_ + 1);
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  void copy_until(std::size_t end) {
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }
  void mask_until(std::size_t end) {
    if (end > at_) out_ += kMask;
    at_ = end;
  }
  template <typename Is>
  std::size_t skip(std::size_t from, Is is) const {
    while (from < text_.size() && is(text_[from])) ++from;
    return from;
  }

  void mask_url() {
    copy_until(at_ + 3);
    const std::size_t end = end_of_word(at_, at_, "<>");
    out_ += redact_url_rest(text_.substr(at_, end - at_));
    at_ = end;
  }

  void pass_separator() {
    const Name name = name_before(text_.substr(0, at_));
    const bool is_secret = names_a_secret(name.text);
    if (!is_secret) return copy_until(at_ + 1);
    copy_until(skip(skip(at_, [](char c) { return is_separator(c) || c == '>'; }), is_blank));
    mask_value(name);
  }

  // A blank may end an option: "--token abc".
  void pass_blank() {
    const std::string_view name = last_name(text_.substr(0, at_));
    copy_until(skip(at_, is_blank));
    const bool is_option = name.starts_with("--") && names_a_secret(name);
    if (is_option && !rest().starts_with('-') && !rest().starts_with('=') && !rest().starts_with(':'))
      mask_value({name, at_});
  }

  void mask_value(const Name& name) {
    if (const auto quoted = find_quoted()) {
      mask_quoted(*quoted, name);
    } else if (rest().starts_with('{') || rest().starts_with('[')) {
      const std::size_t end = end_of_brackets();
      mask_until(name.is_quoted ? end : end_of_word(end, name.begin));
    } else if (name.is_quoted) {
      mask_until(std::min(text_.find_first_of(",}] \t\r\n", at_), text_.size()));
    } else if (has_long_value(name.text) || begins_with_scheme()) {
      mask_until(end_of_line(name.begin));
    } else {
      mask_until(end_of_simple_value(name.begin));
    }
  }

  struct Quoted {
    std::size_t begin, end, after;  // `end` is before the closing quote, `after` behind it
  };
  // The text within the quotes that begin here. In a JSON text within a JSON text, a quote has backslashes
  // before it, and quotes that are nested deeper have more of them.
  std::optional<Quoted> find_quoted() const {
    const std::size_t open = skip(at_, [](char c) { return c == '\\'; });
    if (open == text_.size() || !is_quote(text_[open])) return std::nullopt;
    const std::size_t own = open - at_;
    std::size_t backslashes = 0;
    for (std::size_t i = open + 1; i < text_.size(); ++i) {
      if (text_[i] == text_[open] && backslashes % (2 * (own + 1)) == own)
        return Quoted{open + 1, i - own, i + 1};
      backslashes = text_[i] == '\\' ? backslashes + 1 : 0;
    }
    return Quoted{open + 1, text_.size(), text_.size()};
  }

  // In a shell, a value may continue after a quote: 'it'"'"'s'.
  void mask_quoted(const Quoted& quoted, const Name& name) {
    copy_until(quoted.begin);
    out_ += kMask;
    at_ = quoted.end;
    copy_until(quoted.after);
    const bool continues = !rest().empty() && (is_alphanumeric(rest()[0]) || is_quote(rest()[0]));
    if (continues && !name.is_quoted) mask_until(end_of_word(at_, name.begin));
  }

  // The position after the bracket that closes the one here; the end of the text if none does.
  std::size_t end_of_brackets() const {
    std::size_t depth = 0;
    char quote = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
      } else if (is_quote(c)) {
        quote = c;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return i + 1;
      }
    }
    return text_.size();
  }

  // Whether the quote at `i` may close a quote that was opened before `begin`.
  bool closes(std::size_t i, std::size_t begin) const {
    const bool is_followed = i + 1 < text_.size() && is_alphanumeric(text_[i + 1]);
    return is_quote(text_[i]) && first_quotes_[text_[i] == '"' ? 0 : 1] < begin && !is_followed;
  }

  std::size_t end_of_word(std::size_t from, std::size_t begin, std::string_view ends = "") const {
    while (from < text_.size() && !is_space(text_[from]) && !closes(from, begin) &&
           ends.find(text_[from]) == ends.npos) {
      ++from;
    }
    return from;
  }

  std::size_t end_of_simple_value(std::size_t name_begin) const {
    std::size_t end = end_of_word(at_, name_begin);
    while (end > at_ + 1 && (text_[end - 1] == ',' || text_[end - 1] == ';')) --end;
    return end;
  }

  // The line also ends at the quote that stands before the name: "curl -H 'Cookie: a; b' …".
  std::size_t end_of_line(std::size_t name_begin) const {
    const std::size_t end = std::min(text_.find_first_of("\r\n", at_), text_.size());
    if (name_begin == 0 || !is_quote(text_[name_begin - 1])) return end;
    return std::min(end, text_.find(text_[name_begin - 1], at_));
  }

  bool begins_with_scheme() const {
    constexpr std::size_t kLongest = 20;
    const std::string_view begin = rest().substr(0, kLongest);
    return std::ranges::find(kSchemes, to_lower(begin.substr(0, begin.find_first_of(" \t")))) !=
           kSchemes.end();
  }

  const std::string_view text_;
  const std::array<std::size_t, 2> first_quotes_;  // of " and of '
  std::size_t at_ = 0;
  std::string out_;
};

// Redacts a word of a command line. The value is everything that follows: "db_pass=a, b" is "db_pass=***".
std::string redact_word(std::string_view word) {
  std::string out;
  while (true) {
    const std::size_t end = word.find_first_of("=:");
    const std::string_view name = word.substr(0, end);
    const bool has_name = end != word.npos && last_name(name).size() == end;
    if (has_name && names_a_secret(name))
      return concat(out, word.substr(0, end + 1), end + 1 < word.size() ? kMask : "");
    if (!has_name || word[end] == ':') return out + redact_secrets(word);
    out += word.substr(0, end + 1);
    word.remove_prefix(end + 1);
  }
}

void redact_member(Json& value, bool is_secret) {
  if (value.is_string()) {
    value = is_secret ? std::string(kMask) : redact_secrets(value.text());
  } else if (value.is_array()) {
    for (Json& inner : value.values()) redact_member(inner, is_secret);
  } else if (value.is_object()) {
    for (auto& [name, inner] : value.members()) redact_member(inner, is_secret || names_a_secret(name));
  }
}

}  // namespace

bool names_a_secret(std::string_view name) {
  const std::string plain = without_separators(name);
  return std::ranges::any_of(kAnywhere,
                             [&](std::string_view word) { return plain.find(word) != plain.npos; }) ||
         std::ranges::any_of(kAtTheEnd, [&](std::string_view word) { return plain.ends_with(word); });
}

std::string redact_secrets(std::string_view text) { return Redactor(text).run(); }

std::vector<std::string> redact_command_line(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool hidden = false;
  for (const std::string& word : words) {
    out.push_back(hidden ? std::string(kMask) : redact_word(word));
    hidden = word.starts_with("-") && word.find('=') == word.npos && word.find(' ') == word.npos &&
             names_a_secret(word);
  }
  return out;
}

void redact_texts(Json& document) { redact_member(document, false); }

}  // namespace headrace
