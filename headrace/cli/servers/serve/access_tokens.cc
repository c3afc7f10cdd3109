#include "headrace/cli/servers/serve/access_tokens.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kShortestToken = 16;
constexpr std::string_view kScheme = "bearer";

// Whether a character may be part of a b64token.
bool is_token_character(char character) {
  const bool is_letter = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
  return is_letter || (character >= '0' && character <= '9') ||
         std::string_view("-._~+/=").find(character) != std::string_view::npos;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == line.npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    out.emplace_back(line.substr(begin, end - begin));
    at = end;
  }
  return out;
}

// Distinguishes one content of the file from another.
std::string state_of(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return concat("error ", errno);
  return concat(about.st_ino, " ", about.st_size, " ", about.st_mtim.tv_sec, " ", about.st_mtim.tv_nsec);
}

// All digests have the same length, so comparing them reveals nothing about the token.
bool is_equal(std::string_view a, std::string_view b) {
  const std::string first = sha256_hex(as_bytes(a)), second = sha256_hex(as_bytes(b));
  return CRYPTO_memcmp(first.data(), second.data(), first.size()) == 0;
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  const std::size_t space = authorization.find(' ');
  if (space == authorization.npos) return std::nullopt;
  std::string scheme(authorization.substr(0, space));
  for (char& character : scheme) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  if (scheme != kScheme) return std::nullopt;
  return authorization.substr(std::min(authorization.find_first_not_of(' ', space), authorization.size()));
}

}  // namespace

bool TokenRights::allows(std::string_view model) const {
  return models.empty() || std::ranges::find(models, model) != models.end();
}

Result<std::vector<TokenRights>> parse_tokens(std::string_view text) {
  std::vector<TokenRights> out;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    std::vector<std::string> words = words_of(line);
    if (words.empty() || words.front().starts_with('#')) continue;
    TokenRights rights{.token = std::move(words.front())};
    words.erase(words.begin());
    rights.models = std::move(words);
    if (rights.token.size() < kShortestToken || !std::ranges::all_of(rights.token, is_token_character)) {
      return Error{Code::kInvalidArgument,
                   concat("line ", number, " must begin with a token of ", kShortestToken,
                          " or more letters, digits and -._~+/=; `openssl rand -hex 32` makes one")};
    }
    const bool is_there =
        std::ranges::any_of(out, [&](const auto& other) { return other.token == rights.token; });
    if (is_there)
      return Error{Code::kInvalidArgument, concat("line ", number, " repeats the token of an earlier line")};
    out.push_back(std::move(rights));
  }
  if (out.empty()) return Error{Code::kInvalidArgument, "the file holds no token"};
  return out;
}

Result<std::unique_ptr<AccessTokens>> AccessTokens::open(std::string path,
                                                         std::chrono::milliseconds look_every,
                                                         std::function<void(const std::string&)> remark) {
  std::unique_ptr<AccessTokens> made(new AccessTokens(std::move(path), look_every, std::move(remark)));
  HEADRACE_CHECK(made->read());
  return made;
}

Status AccessTokens::read() {
  state_ = state_of(path_);
  std::ifstream file(path_);
  if (!file) {
    return Error{errno == EACCES ? Code::kPermissionDenied : Code::kNotFound,
                 concat("reading the tokens in ", path_, ": ", std::strerror(errno))};
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto tokens = parse_tokens(text);
  if (!tokens) return std::move(tokens).error().in(path_);
  tokens_ = std::make_shared<const std::vector<TokenRights>>(*std::move(tokens));
  return {};
}

std::shared_ptr<const std::vector<TokenRights>> AccessTokens::current() {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now < look_at_) return tokens_;
  look_at_ = now + look_every_;
  if (state_of(path_) == state_) return tokens_;
  const Status done = read();
  remark_(done ? concat("the tokens in ", path_, " were read again")
               : concat(done.error().message, "; the previous tokens stay in force"));
  return tokens_;
}

Status AccessTokens::check(std::optional<std::string_view> authorization,
                           std::optional<std::string_view> model) {
  const auto token = authorization ? bearer_token(*authorization) : std::nullopt;
  if (!token) {
    return Error{Code::kUnauthenticated,
                 "a token is needed: send the header \"Authorization: Bearer TOKEN\""};
  }
  const TokenRights* found = nullptr;
  const auto tokens = current();
  for (const TokenRights& each : *tokens) {
    if (is_equal(each.token, *token)) found = &each;
  }
  if (found == nullptr) return Error{Code::kUnauthenticated, "the token is not known here"};
  if (model && !found->allows(*model))
    return Error{Code::kPermissionDenied,
                 concat("the token is not for the model ", printable_line(*model, 128))};
  return {};
}

}  // namespace headrace
