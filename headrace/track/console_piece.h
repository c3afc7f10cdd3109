#pragma once

/// \file A piece of the console output of a run, as bytes. docs/formats/run-console.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/location.h"
#include "headrace/track/verify_runs.h"

namespace headrace {

/// The kind of the series in records of runs.
inline constexpr std::string_view kConsoleKind = "console";

enum class ConsoleStream : std::uint8_t { kOutput, kError };

struct ConsoleLine {
  std::int64_t time_ms = 0;  // since 1970
  ConsoleStream stream = ConsoleStream::kOutput;
  std::string text{};
};

struct ConsolePiece {
  std::uint64_t left_out_bytes = 0;  // bytes left out before the first line
  std::vector<ConsoleLine> lines{};
};

/// The name of a piece: "000003".
std::string console_piece_name(std::uint64_t number);

/// The bytes of a piece. Secrets in texts are replaced (redact.h).
std::string serialize_console_piece(std::string_view run, const ConsolePiece& piece);
/// Parses the bytes of a piece.
/// \error kDataLoss       it does not follow the format, or its checksum is wrong
/// \error kUnimplemented  its version is newer than this reader knows
Result<ConsolePiece> parse_console_piece(BytesView data);

/// Reads all pieces in the folder of a part, in order; empty if there is no such folder. Cost: one listing,
/// and a read for each piece.
/// \error kDataLoss  a piece is damaged or missing: the message names it
Result<std::vector<ConsolePiece>> read_console(const Location& folder, const CallOptions& call = {});

/// Reads all pieces below a tracking root and adds the results to `found`, for `headrace verify`.
/// \error of the store
Status verify_console(const Location& root, VerifiedObjects& found, const CallOptions& call = {});

}  // namespace headrace
