#include "headrace/track/console_piece.h"

#include <cstdio>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/record/sealed_json.h"
#include "headrace/track/redact.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

constexpr std::string_view kPieceFormat = "headrace.run.console";
constexpr std::uint64_t kPieceVersion = 1;
constexpr std::string_view kPieceComplaint = "the piece is not as docs/formats/run-console.md says";
constexpr int kPiecesAtOnce = 8;
constexpr std::string_view kStreamNames[] = {"stdout", "stderr"};

ConsoleLine line_from_json(const Json& from) {
  return {.time_ms = from.at(0).as<std::int64_t>("the time of a line"),
          .stream = from.at(1) == kStreamNames[1] ? ConsoleStream::kError : ConsoleStream::kOutput,
          .text = from.at(2).text()};
}

Result<ConsolePiece> read_piece(Store& store, const std::string& key, const CallOptions& call) {
  HEADRACE_TRY(const ReadObject object, read_object(store, key, kRunRecordLimitBytes, call));
  auto piece = parse_console_piece(object.data);
  if (!piece) return std::move(piece).error().in(store.describe(key));
  return piece;
}

}  // namespace

std::string console_piece_name(std::uint64_t number) {
  char name[24];
  std::snprintf(name, sizeof name, "%06llu", static_cast<unsigned long long>(number));
  return name;
}

std::string serialize_console_piece(std::string_view run, const ConsolePiece& piece) {
  Json lines = Json::array();
  for (const ConsoleLine& line : piece.lines) {
    lines.push_back(Json::array(
        {line.time_ms, kStreamNames[static_cast<std::size_t>(line.stream)], redact_secrets(line.text)}));
  }
  const Json document = {{"format", kPieceFormat},
                         {"version", kPieceVersion},
                         {"run", run},
                         {"lines", std::move(lines)},
                         {"left_out_bytes", piece.left_out_bytes}};
  return seal_json(document.dump() + "\n");
}

Result<ConsolePiece> parse_console_piece(BytesView data) {
  const Json document = parse_json(as_text(data)).value_or(Json());
  if (!document.is_object() || document["format"] != kPieceFormat)
    return Error{Code::kDataLoss,
                 concat("the object is not a ", kPieceFormat, "; it was truncated or overwritten")};
  const Json& version = document["version"];
  if (version.is_unsigned() && version.as<std::uint64_t>() > kPieceVersion)
    return Error{Code::kUnimplemented,
                 concat("the ", kPieceFormat, " has version ", version.dump(), "; this Headrace reads up to ",
                        kPieceVersion, ": install a newer one")};
  if (!is_sealed_json(as_text(data)))
    return Error{Code::kDataLoss,
                 concat("the checksum of the ", kPieceFormat, " does not match: it was altered")};
  return read_document(document, kPieceComplaint, [](const Json& from) -> Result<ConsolePiece> {
    ConsolePiece piece{.left_out_bytes = from.get<std::uint64_t>("left_out_bytes")};
    for (const Json& line : from.at("lines").values()) piece.lines.push_back(line_from_json(line));
    return piece;
  });
}

Result<std::vector<ConsolePiece>> read_console(const Location& folder, const CallOptions& call) {
  std::vector<std::string> keys;
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), {.call = call}, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return true;
  }));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string expected = folder.at(console_piece_name(i)).key;
    if (keys[i] != expected)
      return Error{Code::kDataLoss,
                   concat(folder.store->describe(expected), " is missing; there are later pieces")};
  }
  std::vector<ConsolePiece> pieces(keys.size());
  HEADRACE_CHECK(parallel_for(kPiecesAtOnce, keys.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(pieces[i], read_piece(*folder.store, keys[i], call));
    return {};
  }));
  return pieces;
}

Status verify_console(const Location& root, VerifiedObjects& found, const CallOptions& call) {
  std::vector<std::string> keys;
  HEADRACE_CHECK(root.store->list(root.at(kConsolePrefix).key, {.call = call}, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return true;
  }));
  for (const std::string& key : keys) {
    const auto piece = read_piece(*root.store, key, call);
    if (!piece && !is_damaged_record(piece.error().code)) return piece.error();
    ++found.objects;
    if (!piece) found.bad.push_back({root.store->describe(key), piece.error().message});
  }
  return {};
}

}  // namespace headrace
