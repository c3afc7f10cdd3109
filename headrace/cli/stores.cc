#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"

namespace headrace {
namespace {

constexpr Positional kStoresPositionals[] = {
    {.name = "SCHEME",
     .sentence = "The scheme of one kind of store, such as s3; by default all kinds.",
     .required = false}};

Json document_of(const StoreDriver& driver) {
  Json options = Json::array();
  for (const Option& option : driver.options) {
    options.push_back({{"name", option.name}, {"variable", option.variable}, {"sentence", option.sentence}});
  }
  Json variables = Json::array();
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

Status run_stores(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  std::vector<const StoreDriver*> drivers = StoreRegistry::drivers();
  if (!arguments.empty()) {
    HEADRACE_TRY(const StoreDriver* const driver, StoreRegistry::driver(arguments[0]));
    drivers = {driver};
  }
  Json documents = Json::array();
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
        "Each driver describes the URLs that it reads and writes, its options and its variables.\n"
        "  headrace stores\n"
        "  headrace stores s3",
    .positionals = kStoresPositionals,
    .run = run_stores};

}  // namespace headrace
