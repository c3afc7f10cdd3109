// `runs console`: what a run has printed.

#include <algorithm>
#include <chrono>

#include "headrace/base/iso_time.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/history/history.h"
#include "headrace/track/console_piece.h"

namespace headrace {
namespace {

constexpr Positional kConsolePositionals[] = {
    {.name = "URL", .sentence = "The output of the run, or a folder above it."},
    {.name = "RUN",
     .sentence =
         "Id of a run, or the beginning of one. Default: the newest run that wrote to URL, else below it.",
     .required = false},
};

constexpr Option kConsoleOptions[] = {
    {.name = "rank",
     .type = OptionType::kInteger,
     .default_value = "0",
     .sentence = "Show what this process of the run has printed.",
     .minimum = 0},
    {.name = "times",
     .type = OptionType::kFlag,
     .sentence = "Begin each line with the time at which it ended."},
};

std::string time_of(const ConsoleLine& line) {
  return format_time_ms(std::chrono::system_clock::time_point(std::chrono::milliseconds(line.time_ms)));
}

void show_piece(Console& console, const ConsolePiece& piece, bool with_times) {
  if (console.json()) {
    if (piece.left_out_bytes > 0) console.result(Json({{"left_out_bytes", piece.left_out_bytes}}).dump());
    for (const ConsoleLine& line : piece.lines)
      console.result(Json({{"time", time_of(line)},
                           {"stream", line.stream == ConsoleStream::kError ? "stderr" : "stdout"},
                           {"text", line.text}})
                         .dump());
    return;
  }
  if (piece.left_out_bytes > 0) console.result(concat("… ", piece.left_out_bytes, " bytes were left out …"));
  for (const ConsoleLine& line : piece.lines)
    console.result(with_times ? concat(time_of(line), "  ", line.text) : line.text);
}

// The folders in which attempts of that rank have kept their console, oldest first.
std::vector<std::string> console_folders(const RunRecord& run, std::uint64_t rank) {
  std::vector<std::string> urls;
  for (auto part = run.parts.rbegin(); part != run.parts.rend(); ++part) {
    if (part->start.rank != rank) continue;
    for (const RunSeries& series : series_of(*part)) {
      if (series.kind == kConsoleKind) urls.push_back(series.url);
    }
  }
  return urls;
}

Status show_console(CommandContext& context, const std::vector<std::string>& arguments,
                    const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const RunRecord run, run_at(context, location, arguments.size() > 1 ? arguments[1] : ""));
  const auto rank = static_cast<std::uint64_t>(options.integer("rank"));
  const std::vector<std::string> folders = console_folders(run, rank);
  if (folders.empty())
    return Error{Code::kNotFound, concat("rank ", rank, " of the run ", run.id,
                                         " has not kept its console; headrace train keeps it, and so does "
                                         "hr.init(…, console=True)")};
  context.console.begin_stream();
  for (const std::string& url : folders) {
    HEADRACE_TRY(const Location folder, context.stores.open(url));
    HEADRACE_TRY(const std::vector<ConsolePiece> pieces, read_console(folder, context.call()));
    for (const ConsolePiece& piece : pieces) show_piece(context.console, piece, options.flag("times"));
  }
  return {};
}

}  // namespace

extern const Command kRunsConsoleCommand;
const Command kRunsConsoleCommand = {
    .name = "runs console",
    .summary = "Show what a run has printed",
    .details =
        "Prints the lines that the run has kept, those of earlier attempts first. "
        "While the run goes on, lines of\n"
        "the last five minutes may be missing. With --json, an object for each line.\n"
        "\n"
        "  headrace runs console s3://datasets/runs/imdb-1\n"
        "  headrace runs console s3://datasets/runs 20261121-032600 --times",
    .positionals = kConsolePositionals,
    .options = kConsoleOptions,
    .run = show_console};

}  // namespace headrace
