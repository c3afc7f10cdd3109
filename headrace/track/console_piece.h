#pragma once

/// \file A piece of the console output of a run, as bytes: docs/formats/run-console.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/location.h"
#include "headrace/track/verify_runs.h"

namespace headrace {

/// The kind of the series.
inline constexpr std::string_view kConsoleKind = "console";

enum class ConsoleStream : std::uint8_t { kOutput, kError };

struct ConsoleLine {
  std::int64_t time_ms = 0;  // since 1970
  ConsoleStream stream = ConsoleStream::kOutput;
  std::string text{};
};

struct ConsolePiece {
  std::uint64_t left_out_bytes = 0;  // before the first line
  std::vector<ConsoleLine> lines{};
};

/// "000003".
std::string console_piece_name(std::uint64_t number);

/// Secrets are taken out of every text (redact.h).
std::string serialize_console_piece(std::string_view run, const ConsolePiece& piece);
/// \error kDataLoss       not as the format says, or a wrong checksum
/// \error kUnimplemented  a newer version than this reader knows
Result<ConsolePiece> parse_console_piece(BytesView data);

/// All pieces of a part that are in its folder, in order; none if there is no such folder. One listing, and a
/// read for each.
/// \error kDataLoss  one is damaged or missing: names it
Result<std::vector<ConsolePiece>> read_console(const Location& folder, const CallOptions& call = {});

/// Reads all pieces below a tracking root, and adds them to `found`, for `headrace verify`.
/// \error of the store, where nothing can be said
Status verify_console(const Location& root, VerifiedObjects& found, const CallOptions& call = {});

}  // namespace headrace
