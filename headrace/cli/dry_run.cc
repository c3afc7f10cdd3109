#include "headrace/cli/dry_run.h"

#include <chrono>
#include <cstdio>
#include <map>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/worker_count.h"
#include "headrace/prepare/execute/dry_run.h"

namespace headrace {
namespace {

constexpr double kGigabyte = 1e9;

double money_for(const DryRun& dry_run, const Prices& prices) {
  return static_cast<double>(dry_run.read_requests) / 1000 * prices.read_requests +
         static_cast<double>(dry_run.write_requests) / 1000 * prices.write_requests +
         static_cast<double>(dry_run.read_bytes) / kGigabyte * prices.read_gigabyte;
}

std::string decimals(double number, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, number);
  return text;
}

std::string duration_text(double seconds) {
  if (seconds < 120) return concat(decimals(seconds, 2), " s");
  return seconds < 7200 ? concat(decimals(seconds / 60, 2), " min")
                        : concat(decimals(seconds / 3600, 2), " h");
}

Json dry_run_to_json(const DryRun& dry_run) {
  return {{"objects", dry_run.objects},
          {"input_bytes", dry_run.input_bytes},
          {"read_tasks", dry_run.tasks},
          {"trial", {{"rows", dry_run.tried_rows}, {"counts", dry_run.counts}, {"reasons", dry_run.reasons}}},
          {"rows", dry_run.rows},
          {"read_requests", dry_run.read_requests},
          {"read_bytes", dry_run.read_bytes},
          {"shards", dry_run.shards},
          {"written_bytes", dry_run.written_bytes},
          {"write_requests", dry_run.write_requests},
          {"seconds", dry_run.seconds}};
}

void show_text(Console& console, const DryRun& dry_run, const std::optional<Prices>& prices) {
  console.result(concat("input     ", dry_run.objects, " objects, ", format_size(dry_run.input_bytes),
                        ", read by ", dry_run.tasks, " tasks"));
  std::string counts;
  for (const auto& [name, count] : dry_run.counts) {
    if (name != "in") counts += concat(counts.empty() ? "" : ", ", count, " ", name);
  }
  console.result(concat("tried     ", dry_run.tried_rows, " rows: ", counts));
  for (const auto& [reason, count] : dry_run.reasons)
    console.result(concat("            ", count, " ", reason));
  if (!dry_run.first_rejection.empty()) console.result(concat("          first: ", dry_run.first_rejection));
  console.result("all of it, about:");
  console.result(concat("  rows    ", dry_run.rows));
  const std::string requests =
      dry_run.read_requests == 0 ? "" : concat(" in ", dry_run.read_requests, " requests");
  console.result(concat("  read    ", format_size(dry_run.read_bytes), requests));
  console.result(concat("  written ", format_size(dry_run.written_bytes), " in ", dry_run.shards, " shards, ",
                        dry_run.write_requests, " requests"));
  console.result(concat("  time    ", duration_text(dry_run.seconds)));
  if (prices) console.result(concat("  money   ", decimals(money_for(dry_run, *prices), 4)));
}

}  // namespace

Result<Prices> parse_prices(std::string_view text) {
  Prices prices;
  const std::map<std::string, double*, std::less<>> known = {
      {"get", &prices.read_requests}, {"put", &prices.write_requests}, {"gigabyte", &prices.read_gigabyte}};
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto found = known.find(trim(std::string_view(part).substr(0, equals)));
    const auto price =
        parse_number<double>(trim(std::string_view(part).substr(std::min(equals + 1, part.size()))));
    if (found == known.end() || !price || !(*price >= 0)) {
      return Error{Code::kInvalidArgument,
                   concat("--prices must look like get=0.0004,put=0.005,gigabyte=0.09, not \"", part, "\"")};
    }
    *found->second = *price;
  }
  return prices;
}

Status show_dry_run(CommandContext& context, const PlannedPrepare& planned, const OptionValues& values) {
  std::optional<Prices> prices;
  if (values.has("prices")) {
    HEADRACE_TRY(prices, parse_prices(values.text("prices")));
  }
  const auto clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  HEADRACE_TRY(const DryRun tried, dry_run(planned.plan, planned.encoders, context.stores,
                                           workers_from(values), clock, planned.map.get(), context.stop));
  if (!context.console.json()) {
    show_text(context.console, tried, prices);
    return {};
  }
  Json document = dry_run_to_json(tried);
  if (prices) document["money"] = money_for(tried, *prices);
  context.console.result(document.dump());
  return {};
}

}  // namespace headrace
