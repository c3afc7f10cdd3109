#pragma once

/// \file The terminal side of a command: results go to standard output; progress, remarks and questions go to
/// standard error. Nothing else in Headrace prints, except the notice of stop_on_signal.h.

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
  /// Standard error is a terminal: progress is one line that is redrawn. Otherwise progress is a plain line
  /// now and then.
  bool draws = false;
  /// Standard output is a terminal: names are quoted as GNU `ls` quotes them.
  bool quotes_names = false;
  /// Standard input and standard error are terminals: a person can be asked.
  bool can_ask = false;
  /// With `json`: an error is only in the document, and not also on standard error.
  bool tells_errors_once = false;
  /// Stopped when the reader of standard output is gone (`headrace cat x | head`), because nobody reads
  /// further output.
  std::stop_source stop{std::nostopstate};
};

/// Prints the output of a command. Thread-safe, except for `begin_stream`.
class Console {
 public:
  explicit Console(const ConsoleOptions& options);
  ~Console();

  /// If true, a command prints one JSON document with `result`, and nothing else to standard output.
  bool json() const;
  bool can_ask() const;

  /// Quotes a key, URL or other name that someone else has chosen, so that it can be part of a line
  /// (quoted_name.h).
  std::string name(std::string_view name) const;

  /// Prints one or more lines of the result, and a newline at the end. Control characters become blanks; pass
  /// names through `name` first. An error is reported by `flush`.
  void result(std::string_view line);
  /// From now on, each line of the result is a document of its own. With `json`, an error is one more
  /// document.
  void begin_stream();
  /// Prints bytes of the result unchanged.
  /// \error kCancelled  the reader of standard output is gone
  /// \error kUnknown    standard output cannot be written; the message has the system's reason
  Status result_bytes(BytesView bytes);

  /// Prints a remark for people, which is not part of the result.
  void note(std::string_view line);
  /// Reports a possible problem of a command that continues: "headrace: warning: …".
  void warn(std::string_view line);
  /// Reports why the command failed: "headrace: …". With `json`, unless a result that is not a stream was
  /// printed before, also prints the document {"error": {"code": "NOT_FOUND", "message": "…"}}.
  void error(const Error& error);

  /// Shows the progress of `stage`. Rate and remaining time are measured from the first call for that stage.
  /// Cheap: draws at most ten times a second, or every five seconds without a terminal.
  /// \param total  0 if unknown
  /// \param unit   what is counted, in the plural ("records"); "bytes" are shown as sizes
  /// \param aside  another count to show with it
  void progress(std::string_view stage, std::uint64_t done, std::uint64_t total, std::string_view unit,
                std::string_view aside = "");

  /// Asks a person to answer y or n. REQUIRES: can_ask()
  bool confirm(std::string_view question);

  /// From now on, also sends lines of results, remarks, warnings and errors to `copy`, whether or not they
  /// are shown; but not progress. Empty: stops that. `copy` must not call this console.
  using Copy = std::function<void(bool is_error_stream, std::string_view line)>;
  void copy_lines_to(Copy copy);

  /// Ends the progress line and writes everything to the system.
  /// \error as `result_bytes`, for anything that was printed
  Status flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
