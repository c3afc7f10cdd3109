#pragma once

/// \file `--dry-run`: what preparing would take, in requests, bytes, time and money.

#include <string_view>

#include "headrace/cli/prepare_options.h"

namespace headrace {

/// The prices of a store, in any currency.
struct Prices {
  double read_requests = 0;   // for 1,000
  double write_requests = 0;  // for 1,000
  double read_gigabyte = 0;   // for 10^9 bytes that leave it
};

/// "get=0.0004,put=0.005,gigabyte=0.09", any of them.
/// \error kInvalidArgument
Result<Prices> parse_prices(std::string_view text);

/// Tries a plan, and shows what it found. `values` are those of kPrepareOptions.
/// \error those of dry_run
Status show_dry_run(CommandContext& context, const PlannedPrepare& planned, const OptionValues& values);

}  // namespace headrace
