#include "headrace/cli/servers/serve/model_arguments.h"

#include "headrace/base/duration.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

struct GivenModel {
  std::string name;
  std::string place;
};

Result<GivenModel> parse_model(StoreRegistry& stores, const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool has_name = equals != text.npos && equals < text.find("://") && equals < text.find('/');
  GivenModel out{.place = has_name ? text.substr(equals + 1) : text};
  HEADRACE_TRY(const Location place, stores.open(out.place));
  std::string path = place.key;
  while (path.ends_with('/')) path.pop_back();
  if (path.ends_with("/export")) path.resize(path.size() - std::string_view("/export").size());
  out.name = has_name ? text.substr(0, equals) : path.substr(path.rfind('/') + 1);
  if (out.name.empty())
    return Error{Code::kInvalidArgument, concat("the model ", text, " has no name: give it as NAME=", text)};
  if (Status good = check_served_name(out.name); !good)
    return std::move(good).error().in(concat("the model ", text, ": give it a name as in NAME=URL"));
  return out;
}

Result<std::vector<std::uint64_t>> parse_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  if (text.empty()) return sizes;
  for (const std::string& word : split(text, ',')) {
    const auto size = parse_number<std::uint64_t>(word);
    if (!size)
      return Error{Code::kInvalidArgument, concat("--batch-sizes is ", text, "; it must look like 1,8,64")};
    sizes.push_back(*size);
  }
  return sizes;
}

}  // namespace

Result<std::chrono::milliseconds> duration_option(const OptionValues& options, std::string_view name) {
  const auto parsed = parse_duration(options.text(name));
  if (parsed && parsed->count() > 0) return *parsed;
  return Error{Code::kInvalidArgument,
               concat("--", name, " is ", options.text(name), "; it must be a time such as 30s or 5m")};
}

Result<ModelConfiguration> default_configuration(const OptionValues& options) {
  ModelConfiguration out;
  auto versions = parse_version_policy(options.text("versions"));
  if (!versions) return Error{Code::kInvalidArgument, concat("--versions ", versions.error().message)};
  out.versions = *std::move(versions);
  out.batch_rows = static_cast<std::uint64_t>(options.integer("batch-rows"));
  HEADRACE_TRY(out.batch_sizes, parse_sizes(options.text("batch-sizes")));
  out.lanes = static_cast<std::uint64_t>(options.integer("lanes"));
  out.queue_rows = static_cast<std::uint64_t>(options.integer("queue-rows"));
  HEADRACE_TRY(out.deadline, duration_option(options, "deadline"));
  HEADRACE_CHECK(check_options(out.batching()));
  return out;
}

Result<ServingConfiguration> configuration_of(const std::vector<std::string>& arguments,
                                              const ModelConfiguration& defaults, StoreRegistry& stores) {
  ServingConfiguration out;
  for (const std::string& text : arguments) {
    HEADRACE_TRY(const GivenModel given, parse_model(stores, text));
    const auto [at, is_new] = out.models.emplace(given.name, defaults);
    if (!is_new) {
      return Error{Code::kInvalidArgument, concat("two models have the name ", given.name,
                                                  ": give one another name, as in NAME=", text)};
    }
    at->second.place = given.place;
  }
  return out;
}

}  // namespace headrace
