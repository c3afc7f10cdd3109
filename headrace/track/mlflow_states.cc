#include "headrace/track/mlflow_states.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

constexpr std::string_view kStatesPrefix = "_headrace/mlflow/";
constexpr std::uint64_t kStateLimitBytes = 16 << 20;
constexpr std::uint64_t kStateVersion = 1;
constexpr std::size_t kStateDigits = 8;
constexpr std::size_t kDigestDigits = 64;
constexpr std::string_view kDigestMember = R"(,"zz_sha256":")";
constexpr int kStatesAtOnce = 8;

Error no_state(std::string_view why) {
  return {Code::kDataLoss, concat("the state ", why, "; restore it from a copy")};
}

// Keys are sorted, and "version" comes after all objects that could have a member of that name.
std::optional<std::uint64_t> version_of(std::string_view text) {
  constexpr std::string_view kMember = R"("version":)";
  const std::size_t at = text.rfind(kMember);
  std::uint64_t version = 0;
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kMember.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() ? std::optional(version) : std::nullopt;
}

struct StateKey {
  std::string key;
  std::string folder;
  std::string_view format;
  std::uint64_t number = 0;
};

// Parses "experiments/00000001", "runs/<id>/00000001", "registered-models/<id>/00000001" and so on. Other
// objects have no value.
std::optional<StateKey> parse_state_key(std::string_view prefix, const std::string& key) {
  const std::string_view inner = std::string_view(key).substr(prefix.size());
  const std::vector<std::string> segments = split(inner, '/');
  StateKey out{.key = key, .folder = parent_key(key)};
  if (segments.size() == 2 && segments[0] == "experiments") out.format = "headrace.mlflow.experiments";
  if (segments.size() == 3 && segments[0] == "runs") out.format = "headrace.mlflow.run";
  if (segments.size() == 3 && segments[0] == "models") out.format = "headrace.mlflow.model";
  if (segments.size() == 2 && segments[0] == "registry") out.format = "headrace.mlflow.registry";
  if (segments.size() == 3 && segments[0] == "registered-models")
    out.format = "headrace.mlflow.registered-model";
  const std::string& name = segments.back();
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out.number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (out.format.empty() || !is_number || name.size() != kStateDigits) return std::nullopt;
  return out;
}

// `states`: sorted by key.
void add_gaps(const Store& store, const std::vector<StateKey>& states, VerifiedObjects& found) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool is_first = i == 0 || states[i - 1].folder != states[i].folder;
    const std::uint64_t expected = is_first ? 1 : states[i - 1].number + 1;
    if (states[i].number == expected) continue;
    found.bad.push_back(
        {store.describe(states[i].key), concat("the state before it is missing: the expected number is ",
                                               expected, "; restore it from a copy")});
  }
}

}  // namespace

Status check_mlflow_state(BytesView data, std::string_view format) {
  const std::string_view text = as_text(data);
  const std::size_t at = text.rfind(kDigestMember);
  const std::size_t end = at + kDigestMember.size() + kDigestDigits;
  if (at == std::string_view::npos || end >= text.size() || text[end] != '"')
    return no_state("has no checksum, so it was truncated or overwritten");
  const std::string_view digest = text.substr(at + kDigestMember.size(), kDigestDigits);
  std::string rest = concat(text.substr(0, at), text.substr(end + 1));
  if (!rest.ends_with("}\n")) return no_state("does not end like a state");
  rest.pop_back();
  const auto version = version_of(rest);
  if (sha256_hex(as_bytes(rest)) != digest) return no_state("is damaged: its checksum does not match");
  if (rest.find(concat(R"("format":")", format, "\"")) == std::string::npos || !version)
    return no_state(concat("is not of the format ", format));
  if (*version <= kStateVersion) return {};
  return Error{Code::kUnimplemented,
               concat("the state has version ", *version, "; this Headrace reads up to ", kStateVersion,
                      ": install a newer one")};
}

Status verify_mlflow_states(const Location& root, VerifiedObjects& found, const CallOptions& call) {
  std::vector<StateKey> states;
  const std::string prefix = root.at(kStatesPrefix).key;
  HEADRACE_CHECK(root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    if (auto state = parse_state_key(prefix, object.key)) states.push_back(*std::move(state));
    return true;
  }));
  std::vector<std::string> problems(states.size());
  HEADRACE_CHECK(parallel_for(kStatesAtOnce, states.size(), [&](std::size_t i) -> Status {
    const auto read = read_object(*root.store, states[i].key, kStateLimitBytes, call);
    const Status checked = read ? check_mlflow_state(read->data, states[i].format) : Status(read.error());
    if (checked) return {};
    const bool is_too_large = checked.error().code == Code::kResourceExhausted;
    if (!is_too_large && !is_damaged_record(checked.error().code)) return checked;
    problems[i] = checked.error().message;
    return {};
  }));
  found.objects += states.size();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!problems[i].empty())
      found.bad.push_back({root.store->describe(states[i].key), std::move(problems[i])});
  }
  add_gaps(*root.store, states, found);
  return {};
}

}  // namespace headrace
