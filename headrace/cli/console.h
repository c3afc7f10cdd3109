#pragma once

/// \file The terminal side of a command: results to standard output; progress, remarks and questions to
/// standard error. The only place in Headrace that prints.

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

struct ConsoleOptions {
  /// Machine-readable results were asked for (--json).
  bool json = false;
  /// No remarks and no progress (--quiet); warnings, errors and results remain.
  bool quiet = false;
  /// Standard error is a terminal: progress is one line that is rewritten; else a plain line now and then.
  bool draws = false;
  /// Standard output is a terminal: names are quoted as `ls` of GNU does.
  bool quotes_names = false;
  /// Standard input is a terminal too: a person can be asked.
  bool can_ask = false;
  /// With `json`: an error is only in the document, and not on standard error too.
  bool tells_errors_once = false;
  /// Stopped when standard output is gone (`headrace cat x | head`): nobody reads what is still to come.
  std::stop_source stop{std::nostopstate};
};

/// Thread-safe.
class Console {
 public:
  explicit Console(const ConsoleOptions& options);
  ~Console();

  /// If true, a command prints one JSON document with `result` and nothing else there.
  bool json() const;
  bool can_ask() const;

  /// A key, URL or other name that others have chosen, to be shown in a line: quoted_name.h.
  std::string name(std::string_view name) const;

  /// A line of the result, or several; the newline is added. Control characters become blanks: names in it
  /// pass through `name` first.
  void result(std::string_view line);
  /// From now on, each line of the result is a document of its own: with `json`, an error is one more.
  void begin_stream();
  /// Bytes of the result, as they are.
  /// \error kCancelled  nobody reads any more
  /// \error kUnknown    standard output cannot be written; the message has the system's reason
  Status result_bytes(BytesView bytes);

  /// A remark for people; not part of the result.
  void note(std::string_view line);
  /// Reports a possible problem of a command that continues: "headrace: warning: …".
  void warn(std::string_view line);
  /// Reports why the command failed: "headrace: …". With `json`, unless a result that is no stream was
  /// printed before, also prints the document {"error": {"code": "NOT_FOUND", "message": "…"}}.
  void error(const Error& error);

  /// Shows how far `stage` is; `total` 0 if unknown. `unit` is what is counted, in the plural ("records");
  /// "bytes" are shown as sizes. Rate and time to go are counted from the first call with that stage. `aside`
  /// is shown with it: what else is counted. Cheap: draws at most ten times a second, or every five seconds
  /// without a terminal.
  void progress(std::string_view stage, std::uint64_t done, std::uint64_t total, std::string_view unit,
                std::string_view aside = "");

  /// Asks a person to answer y or n. REQUIRES: can_ask()
  bool confirm(std::string_view question);

  /// From now on, lines of results, remarks, warnings and errors also go to `copy`, whether they are shown or
  /// not; progress does not. Empty: to nobody. `copy` may not call this console.
  using Copy = std::function<void(bool is_error_stream, std::string_view line)>;
  void copy_lines_to(Copy copy);

  /// Ends the progress line and hands everything to the system.
  /// \error as `result_bytes`, of anything printed
  Status flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
