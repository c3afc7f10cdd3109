#pragma once

/// \file `--dry-run`: estimates what preparing would take in requests, bytes, time and money.

#include <string_view>

#include "headrace/cli/prepare_options.h"

namespace headrace {

/// The prices of a store, in any currency.
struct Prices {
  double read_requests = 0;   // price of 1,000
  double write_requests = 0;  // price of 1,000
  double read_gigabyte = 0;   // price of 10^9 bytes that leave the store
};

/// Parses prices: "get=0.0004,put=0.005,gigabyte=0.09", or some of them.
/// \error kInvalidArgument  it does not look like that
Result<Prices> parse_prices(std::string_view text);

/// Tries a plan on some rows and shows the estimate. `values`: of kPrepareOptions.
/// \error as dry_run and parse_prices
Status show_dry_run(CommandContext& context, const PlannedPrepare& planned, const OptionValues& values);

}  // namespace headrace
