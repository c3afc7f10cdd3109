#include "headrace/os/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/os/spawn.h"

namespace headrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopCheckInterval{100};
constexpr std::chrono::milliseconds kEndCheckInterval{5};

using Sink = std::function<Status(std::string_view)>;

/// A running program and its streams. When this is destroyed, no process of its group is left running, unless
/// the program ended by itself.
class Child {
 public:
  static Result<Child> start(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string, std::less<>>& environment,
                             bool has_input) {
    HEADRACE_TRY(StreamEnds output, open_pipe());
    HEADRACE_TRY(StreamEnds errors, open_pipe());
    std::optional<StreamEnds> input;
    // A socket, since a write to a socket can be made without SIGPIPE and without blocking.
    if (has_input) {
      HEADRACE_TRY(input, open_socket());
    }
    HEADRACE_TRY(const pid_t id, spawn(arguments, environment,
                                       {.input = input ? input->theirs.get() : -1,
                                        .output = output.theirs.get(),
                                        .errors = errors.theirs.get()}));
    return Child(id, input ? std::move(input->ours) : FileDescriptor(), std::move(output.ours),
                 std::move(errors.ours));
  }

  Child(Child&& other) noexcept
      : id_(std::exchange(other.id_, 0)),
        input_(std::move(other.input_)),
        output_(std::move(other.output_)),
        errors_(std::move(other.errors_)) {}
  Child& operator=(Child&&) = delete;

  ~Child() { end({}); }

  /// Gives the sinks the output until both streams or the program have ended. The sinks then have everything
  /// that the program wrote, but nothing that another process, which holds the streams, writes later. `check`
  /// is called repeatedly.
  Status collect(const Sink& output, const Sink& errors, const std::function<Status()>& check) {
    while (output_.is_open() || errors_.is_open()) {
      HEADRACE_CHECK(check());
      if (has_ended()) {
        HEADRACE_CHECK(read_rest(errors_, errors));
        return read_rest(output_, output);
      }
      std::array<pollfd, 2> waiting{pollfd{output_.get(), POLLIN, 0}, pollfd{errors_.get(), POLLIN, 0}};
      const int ready = poll(waiting.data(), waiting.size(), static_cast<int>(kStopCheckInterval.count()));
      if (ready <= 0) continue;
      if (waiting[1].revents != 0) HEADRACE_CHECK(read_available(errors_, errors));
      if (waiting[0].revents != 0) HEADRACE_CHECK(read_available(output_, output));
    }
    return {};
  }

  /// Waits for the program's end, and returns its status as in ChildResult.
  Result<int> wait(const std::function<Status()>& check) {
    while (!has_ended()) {
      HEADRACE_CHECK(check());
      std::this_thread::sleep_for(kEndCheckInterval);
    }
    const int state = reap(std::exchange(id_, 0));
    return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  }

  Status answer(std::string_view text) {
    const ssize_t sent = send(input_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(text.size())) return {};
    // A program that has ended is reported by its exit status.
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return {};
    return Error{Code::kInternal, concat("a program does not read its input: ",
                                         sent < 0 ? std::strerror(errno) : "there is no room for more")};
  }

  /// Asks the program to end, and kills it after `grace`.
  void end(std::chrono::milliseconds grace) {
    if (id_ == 0) return;
    const Clock::time_point patience_ends = Clock::now() + grace;
    if (grace.count() > 0) kill(id_, SIGTERM);
    while (Clock::now() < patience_ends && !has_ended()) std::this_thread::sleep_for(kEndCheckInterval);
    kill_and_reap(std::exchange(id_, 0));
  }

 private:
  Child(pid_t id, FileDescriptor input, FileDescriptor output, FileDescriptor errors)
      : id_(id), input_(std::move(input)), output_(std::move(output)), errors_(std::move(errors)) {}

  static Status read_available(FileDescriptor& from, const Sink& sink) {
    std::array<char, 16384> buffer;
    const ssize_t count = read(from.get(), buffer.data(), buffer.size());
    if (count > 0) return sink({buffer.data(), static_cast<std::size_t>(count)});
    if (count == 0 || errno != EINTR) from.close();
    return {};
  }

  /// Reads the bytes that are now in the stream: at most as many as a pipe holds.
  static Status read_rest(const FileDescriptor& from, const Sink& sink) {
    int rest = 0;
    if (!from.is_open() || ioctl(from.get(), FIONREAD, &rest) != 0) return {};
    std::string text(static_cast<std::size_t>(rest), '\0');
    const ssize_t count = read(from.get(), text.data(), text.size());
    return count > 0 ? sink({text.data(), static_cast<std::size_t>(count)}) : Status{};
  }

  bool has_ended() const { return is_to_be_reaped(id_); }

  pid_t id_;  // 0 after `wait` or `end`
  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor errors_;
};

/// Cuts a stream into lines.
class Lines {
 public:
  Status add(std::string_view text, const Sink& on_line) {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      begun_.append(text.substr(0, end));
      text.remove_prefix(end + 1);
      HEADRACE_CHECK(on_line(std::exchange(begun_, {})));
    }
    begun_.append(text);
    return {};
  }
  /// The beginning of a line whose end has not yet arrived.
  std::string& begun() { return begun_; }

 private:
  std::string begun_;
};

void append_tail(std::string& tail, std::string_view text, std::size_t bytes_max) {
  tail.append(text);
  if (tail.size() > bytes_max) tail.erase(0, tail.size() - bytes_max);
}

Error stopped(const std::string& program) { return {Code::kCancelled, concat("waiting for ", program)}; }

/// One conversation with a program.
class Conversation {
 public:
  Conversation(Child& child, const std::string& program, const ChildLimits& limits,
               const ChildConversation& with)
      : child_(child), program_(program), limits_(limits), with_(with) {}

  Result<ChildResult> run() {
    const auto check = [this] { return check_limits(); };
    HEADRACE_CHECK(child_.collect([this](std::string_view text) { return take_output(text); },
                                  [this](std::string_view text) { return take_errors(text); }, check));
    if (!error_lines_.begun().empty()) with_.on_error_line(error_lines_.begun());
    HEADRACE_TRY(result_.exit_status, child_.wait(check));
    return std::move(result_);
  }

 private:
  Status check_limits() const {
    if (limits_.stop.stop_requested()) return stopped(program_);
    if (Clock::now() - heard_ < with_.silence_max) return {};
    return Error{Code::kDeadlineExceeded,
                 concat(program_, " wrote nothing for ", with_.silence_max.count(), " ms and was stopped")};
  }

  Status take_output(std::string_view text) {
    heard_ = Clock::now();
    HEADRACE_CHECK(output_lines_.add(text, [this](std::string_view line) -> Status {
      HEADRACE_TRY(const std::string answer, with_.on_line(line));
      return answer.empty() ? Status{} : child_.answer(answer);
    }));
    if (output_lines_.begun().size() <= with_.line_bytes_max) return {};
    return Error{Code::kResourceExhausted, concat(program_, " wrote a line of more than ",
                                                  with_.line_bytes_max, " bytes and was stopped")};
  }

  Status take_errors(std::string_view text) {
    constexpr std::size_t kPieceBytes = 4096;
    heard_ = Clock::now();
    append_tail(result_.error_tail, text, limits_.error_tail_bytes);
    HEADRACE_CHECK(error_lines_.add(text, [this](std::string_view line) {
      with_.on_error_line(line);
      return Status{};
    }));
    if (error_lines_.begun().size() > kPieceBytes)
      with_.on_error_line(std::exchange(error_lines_.begun(), {}));
    return {};
  }

  Child& child_;
  const std::string& program_;
  const ChildLimits& limits_;
  const ChildConversation& with_;
  Clock::time_point heard_ = Clock::now();
  Lines output_lines_;
  Lines error_lines_;
  ChildResult result_;
};

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string, std::less<>>& environment,
                              const ChildLimits& limits) {
  HEADRACE_TRY(Child child, Child::start(arguments, environment, false));
  const std::string& program = arguments[0];
  const Clock::time_point end = Clock::now() + limits.deadline;
  ChildResult result;
  const auto check = [&]() -> Status {
    if (limits.stop.stop_requested()) return stopped(program);
    if (Clock::now() < end) return {};
    return Error{Code::kDeadlineExceeded,
                 concat(program, " did not end within ", limits.deadline.count(), " ms and was killed")};
  };
  const auto take_output = [&](std::string_view text) -> Status {
    result.output.append(text);
    if (result.output.size() <= limits.output_bytes_max) return {};
    return Error{Code::kResourceExhausted,
                 concat(program, " wrote more than ", limits.output_bytes_max, " bytes and was killed")};
  };
  const auto take_errors = [&](std::string_view text) {
    append_tail(result.error_tail, text, limits.error_tail_bytes);
    return Status{};
  };
  HEADRACE_CHECK(child.collect(take_output, take_errors, check));
  HEADRACE_TRY(result.exit_status, child.wait(check));
  return result;
}

Result<ChildResult> converse_with_child(const std::vector<std::string>& arguments,
                                        const std::map<std::string, std::string, std::less<>>& environment,
                                        const ChildLimits& limits, const ChildConversation& conversation) {
  HEADRACE_TRY(Child child, Child::start(arguments, environment, true));
  auto result = Conversation(child, arguments[0], limits, conversation).run();
  child.end(limits.grace);
  return result;
}

}  // namespace headrace
