/// \file The description of sqlite://name/key for the registry. No other part of Headrace knows of it.

#include <filesystem>

#include "headrace/base/text.h"
#include "headrace/store/driver.h"
#include "sqlite_store.h"

namespace headrace {
namespace {

constexpr Option kSqliteOptions[] = {
    {.name = "folder",
     .unit = "FOLDER",
     .sentence = "Where the files lie: sqlite://name is name.sqlite in there.",
     .variable = "HEADRACE_SQLITE_FOLDER"},
    {.name = "busy-timeout",
     .type = OptionType::kInteger,
     .default_value = "30000",
     .unit = "MILLISECONDS",
     .sentence = "How long to wait for others who write to the file.",
     .minimum = 0,
     .maximum = 600'000,
     .variable = "HEADRACE_SQLITE_BUSY_TIMEOUT"},
};

struct SqliteSettings {
  std::filesystem::path file;
  std::chrono::milliseconds busy_timeout{};
};

Result<SqliteSettings> settings_of(const Url& url, const Environment& environment) {
  OptionValues values(kSqliteOptions);
  for (const Option& option : kSqliteOptions) {
    const auto value = environment.get(option.variable);
    if (!value) continue;
    if (Status taken = values.set(option.name, *value); !taken)
      return std::move(taken).error().in(option.variable);
  }
  if (values.text("folder").empty()) {
    return Error{Code::kInvalidArgument,
                 concat(url.text(), ": HEADRACE_SQLITE_FOLDER does not say in which folder the files lie")};
  }
  return SqliteSettings{std::filesystem::path(values.text("folder")) / (url.authority + ".sqlite"),
                        std::chrono::milliseconds(values.integer("busy-timeout"))};
}

Result<OpenedStore> open_sqlite(const Url& url, const Environment& environment) {
  HEADRACE_TRY(const SqliteSettings settings, settings_of(url, environment));
  OpenedStore opened{make_sqlite_store(settings.file.string(), url.authority, settings.busy_timeout)};
  opened.server = settings.file.string();
  return opened;
}

bool examine_file(const Url& url, const Environment& environment, const CallOptions&, const Report& report) {
  const auto settings = settings_of(url, environment);
  if (!settings) {
    report({"settings", Finding::Outcome::kFailure, settings.error().message, "headrace stores sqlite"});
    return false;
  }
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(settings->file, ignored);
  report({"file", Finding::Outcome::kOk,
          concat(settings->file.string(), is_there ? "" : ", which will be made")});
  return true;
}

}  // namespace

extern const StoreDriver kSqliteDriver;
const StoreDriver kSqliteDriver = {
    .scheme = "sqlite",
    .example = "sqlite://name/key",
    .summary = "Objects in one SQLite file",
    .details = "Several processes of one machine may use a file at once. An object has at most 1 GB.",
    .options = kSqliteOptions,
    .open = open_sqlite,
    .examine = examine_file};

}  // namespace headrace
