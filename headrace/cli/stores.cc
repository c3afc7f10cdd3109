#include <nlohmann/json.hpp>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "SCHEME", .sentence = "One kind of store, as in s3; else all.", .required = false}};

nlohmann::json document_of(const StoreDriver& driver) {
  auto options = nlohmann::json::array();
  for (const Option& option : driver.options) {
    options.push_back({{"name", option.name}, {"variable", option.variable}, {"sentence", option.sentence}});
  }
  auto variables = nlohmann::json::array();
  for (const DriverVariable& variable : driver.variables)
    variables.push_back({{"names", variable.names}, {"sentence", variable.sentence}});
  return {{"scheme", driver.scheme},
          {"example", driver.example},
          {"summary", driver.summary},
          {"details", driver.details},
          {"options", options},
          {"variables", variables},
          {"presigns", driver.presign != nullptr}};
}

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  std::vector<const StoreDriver*> drivers = StoreRegistry::drivers();
  if (!arguments.empty()) {
    HEADRACE_TRY(const StoreDriver* const driver, StoreRegistry::driver(arguments[0]));
    drivers = {driver};
  }
  auto documents = nlohmann::json::array();
  std::string text;
  for (const StoreDriver* driver : drivers) {
    documents.push_back(document_of(*driver));
    text += concat(text.empty() ? "" : "\n", describe_driver(*driver));
  }
  if (context.console.json()) {
    context.console.result(documents.dump());
    return {};
  }
  return context.console.result_bytes(as_bytes(text));
}

}  // namespace

extern const Command kStoresCommand;
const Command kStoresCommand = {
    .name = "stores",
    .summary = "Show the kinds of stores, with their options and environment variables",
    .details =
        "What this program can read and write, as each driver describes itself.\n"
        "  headrace stores\n"
        "  headrace stores s3",
    .positionals = kPositionals,
    .run = run};

}  // namespace headrace
