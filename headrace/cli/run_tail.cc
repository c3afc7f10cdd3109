// `runs tail`: the points of a run as they come, until it has ended.

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/cli/run_views.h"
#include "headrace/cli/step_lines.h"
#include "headrace/log/journal.h"
#include "headrace/metrics/follow.h"
#include "headrace/track/json_number.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

// If a store does not answer within this time, the command reports that and asks again.
constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr std::chrono::milliseconds kShortestWait{2'000};
constexpr std::chrono::milliseconds kLongestWait{15'000};

constexpr Option kTailOptions[] = {
    {.name = "metric",
     .type = OptionType::kTextList,
     .unit = "NAME",
     .sentence = "Show this metric alone. Default: all but those that begin with system/."},
    {.name = "lines",
     .type = OptionType::kInteger,
     .default_value = "10",
     .unit = "lines",
     .sentence = "Begin with this many of the newest steps.",
     .minimum = 0,
     .maximum = 1'000'000,
     .letter = 'n'},
};

using Poll = std::function<Status(const CallOptions&, std::vector<NewPoint>&)>;

/// The parts that count: the latest attempt of each rank.
std::vector<const RunPart*> latest_parts(const RunRecord& run) {
  std::vector<const RunPart*> latest;
  for (const RunPart& part : run.parts) {
    if (latest.empty() || latest.back()->start.rank != part.start.rank) latest.push_back(&part);
  }
  return latest;
}

class RunTail {
 public:
  RunTail(CommandContext& context, Location root, RunRecord run, const OptionValues& options)
      : context_(context), root_(std::move(root)), run_(std::move(run)), options_(options) {}

  Status follow() {
    if (context_.console.json()) context_.console.begin_stream();
    HEADRACE_CHECK(begin());
    while (!run_.end) {
      if (is_stopped_by_request()) return Error{Code::kCancelled, "stopped; the run goes on"};
      if (are_all_gone()) {
        const Result<bool> changed = look_at_record();
        if (changed && !*changed) return killed();
        report(changed ? Status() : changed.error());
        continue;
      }
      report(take_turn());
    }
    HEADRACE_CHECK(show_the_rest());
    return outcome();
  }

 private:
  CallOptions call() const { return {.deadline = kDeadline, .stop = context_.stop}; }

  Status begin() {
    HEADRACE_CHECK(add_sources());
    std::vector<NewPoint> points;
    for (const Poll& source : sources_) HEADRACE_CHECK(source(call(), points));
    const std::vector<StepLine> lines = wanted_lines(std::move(points));
    const auto wanted = static_cast<std::size_t>(options_.integer("lines"));
    show(std::span(lines).last(std::min(lines.size(), wanted)));
    return {};
  }

  // Waits for the next turn. Returns true if the command must end.
  bool is_stopped_by_request() {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, context_.stop, wait_, [] { return false; });
    return context_.stop.stop_requested();
  }

  // Makes one listing: of the record, or of one of the places with points, in turn.
  Status take_turn() {
    const std::size_t turns = sources_.size() + 1;
    turn_ = (turn_ + 1) % turns;
    bool has_news = false;
    if (turn_ == 0) {
      HEADRACE_TRY(has_news, look_at_record());
    } else {
      std::vector<NewPoint> points;
      const Status polled = sources_[turn_ - 1](call(), points);
      has_news = !points.empty();
      show(wanted_lines(std::move(points)));
      HEADRACE_CHECK(polled);
    }
    quiet_turns_ = has_news ? 0 : quiet_turns_ + 1;
    wait_ = quiet_turns_ < turns ? kShortestWait : std::min(wait_ * 3 / 2, kLongestWait);
    return {};
  }

  // Reports the first of several consecutive errors.
  void report(const Status& status) {
    if (context_.stop.stop_requested()) return;
    if (!status && is_reachable_) context_.console.warn(concat(status.error().message, "; trying again"));
    if (status && !is_reachable_) context_.console.note("the store can be read again");
    is_reachable_ = static_cast<bool>(status);
  }

  // Returns true if anything was added to the record.
  Result<bool> look_at_record() {
    std::size_t objects = 0;
    const std::string prefix = root_.at(concat(kRunPartsPrefix, run_.id, "/")).key;
    HEADRACE_CHECK(root_.store->list(prefix, {.call = call()}, [&](const ObjectInfo&) {
      ++objects;
      return true;
    }));
    if (objects == objects_) return false;
    HEADRACE_TRY(run_, read_run(root_, run_.id, call()));
    HEADRACE_CHECK(add_sources());
    objects_ = objects;
    return true;
  }

  Status add_sources() {
    for (const RunPart* part : latest_parts(run_)) {
      for (const RunSeries& series : series_of(*part)) {
        if (series.kind == kSegmentsKind) HEADRACE_CHECK(add_log(*part, series));
      }
    }
    for (const RunEventFolder& folder : event_folders_of(run_)) {
      if (!event_folders_.insert(folder.series.url).second) continue;
      HEADRACE_TRY(const Location location, context_.stores.open(folder.series.url));
      const auto warn = [this](const std::string& message) { context_.console.warn(message); };
      const auto follower = std::make_shared<EventFollower>(
          folder.rank,
          EventMetrics(folder.series.name, location, {.until_us = folder.until_us, .warn = warn}));
      sources_.emplace_back([follower](const CallOptions& call, std::vector<NewPoint>& points) {
        return follower->poll(call, points);
      });
    }
    return {};
  }

  // The logs of all parts lie in one folder.
  Status add_log(const RunPart& part, const RunSeries& series) {
    const std::size_t slash = series.url.rfind('/');
    const std::string folder = series.url.substr(0, slash);
    auto& follower = logs_[folder];
    if (!follower) {
      HEADRACE_TRY(Location location, context_.stores.open(folder));
      follower = std::make_shared<SegmentFollower>(std::move(location),
                                                   static_cast<std::uint64_t>(options_.integer("lines")));
      sources_.emplace_back([follower](const CallOptions& call, std::vector<NewPoint>& points) {
        return follower->poll(call, points);
      });
    }
    follower->add_log(series.url.substr(slash + 1), part.start.rank);
    return {};
  }

  std::vector<StepLine> wanted_lines(std::vector<NewPoint> points) const {
    const std::vector<std::string>& names = options_.list("metric");
    std::erase_if(points, [&](const NewPoint& point) {
      return names.empty() ? point.metric.starts_with(kSystemMetrics)
                           : std::ranges::find(names, point.metric) == names.end();
    });
    return step_lines(std::move(points));
  }

  void show(std::span<const StepLine> lines) {
    for (const StepLine& line : lines) {
      if (!context_.console.json()) {
        context_.console.result(
            format_.line(line, [this](std::string_view name) { return context_.console.name(name); }));
        continue;
      }
      Json metrics = Json::object();
      for (const auto& [name, value] : line.metrics) metrics[name] = number_to_json(value);
      context_.console.result(Json({{"run", run_.id},
                                    {"rank", line.rank},
                                    {"step", line.step},
                                    {"time_us", line.time_us},
                                    {"metrics", std::move(metrics)}})
                                  .dump());
    }
    if (!lines.empty()) static_cast<void>(context_.console.flush());
  }

  Status show_the_rest() {
    std::vector<NewPoint> points;
    for (const Poll& source : sources_) HEADRACE_CHECK(source(context_.call(), points));
    show(wanted_lines(std::move(points)));
    return {};
  }

  // Whether all processes that have not ended their parts are gone: this machine has their journals, and no
  // process holds them. Journals of other machines are not seen.
  bool are_all_gone() const {
    const auto state = state_folder(context_.environment);
    if (!state || run_.end) return false;
    bool is_any_gone = false;
    for (const RunPart* part : latest_parts(run_)) {
      if (part->end) continue;
      if (!is_writer_gone(concat(*state, "/metrics/", part->name))) return false;
      is_any_gone = true;
    }
    return is_any_gone;
  }

  Status killed() {
    HEADRACE_CHECK(show_the_rest());
    if (context_.console.json())
      context_.console.result(Json({{"run", run_.id}, {"status", "killed"}, {"error", ""}}).dump());
    return Error{Code::kAborted,
                 concat("the run ", run_.id,
                        " has stopped without an end: its process on this machine was killed; "
                        "headrace runs recover writes what it has left")};
  }

  Status outcome() {
    const std::string_view status = run_status_name(run_.end->status);
    if (context_.console.json()) {
      context_.console.result(
          Json({{"run", run_.id}, {"status", status}, {"error", run_.end->error}}).dump());
    } else if (run_.end->status == RunStatus::kFinished) {
      context_.console.result(
          concat("the run ", run_.id, " has finished after ", format_metric(run_.end->seconds), " s"));
    }
    if (run_.end->status == RunStatus::kFinished) return {};
    return Error{Code::kAborted,
                 concat("the run ", run_.id, run_.end->status == RunStatus::kStopped ? " was " : " has ",
                        status, run_.end->error.empty() ? "" : ": ", run_.end->error)};
  }

  CommandContext& context_;
  const Location root_;
  RunRecord run_;
  const OptionValues& options_;
  std::vector<Poll> sources_;
  std::map<std::string, std::shared_ptr<SegmentFollower>> logs_;  // by the folder of the logs
  std::set<std::string> event_folders_;
  StepLineFormat format_;
  std::size_t objects_ = 0;  // objects of the record
  std::size_t turn_ = 0;
  std::size_t quiet_turns_ = 0;
  std::chrono::milliseconds wait_ = kShortestWait;
  bool is_reachable_ = true;
};

// The root that records this run.
Result<Location> root_of(CommandContext& context, const Location& location, const RunRecord& run) {
  HEADRACE_TRY(const std::vector<Location> roots, roots_near(context, location));
  for (const Location& root : roots) {
    const auto found = read_run(root, run.id, context.call());
    if (found && found->start.output == run.start.output) return root;
  }
  return Error{Code::kNotFound, concat("the record of the run ", run.id, " was removed meanwhile")};
}

Status tail(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(RunRecord run, run_at(context, location, arguments.size() > 1 ? arguments[1] : ""));
  HEADRACE_TRY(Location root, root_of(context, location, run));
  return RunTail(context, std::move(root), std::move(run), options).follow();
}

}  // namespace

extern const Command kRunsTailCommand;
const Command kRunsTailCommand = {
    .name = "runs tail",
    .summary = "Follow a run: its points as they come, until it ends",
    .details =
        "Prints a line for each step: step, time and metrics. Ends with the run, and says how the run "
        "ended: exit code 0 if it has finished, 1 if it has failed or was stopped or killed. (A killed "
        "process is seen on its own machine; elsewhere the command waits until you stop it.) If the store "
        "does not answer, the command says so and tries again.\n"
        "It makes one listing every 2 seconds, and fewer while nothing new comes, down to one every 15 "
        "seconds: in turn of the record, of the run's segments, and of each folder of event files. It also "
        "reads each new segment once. With --json, each line is an object.\n"
        "\n"
        "  headrace runs tail s3://datasets/runs\n"
        "  headrace runs tail s3://datasets/runs cnn-1 --metric loss --metric accuracy -n 100",
    .positionals = kRunPositionals,
    .options = kTailOptions,
    .run = tail};

}  // namespace headrace
