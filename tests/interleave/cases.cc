#include "tests/interleave/cases.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/coordinate/chain.h"
#include "tests/interleave/output.h"

namespace headrace::interleave {
namespace {

struct Ran {
  Status status;
  std::shared_ptr<StallControl> control;
};

Ran run(const TestCommand& command, const World& world, const StallOptions& options = {}) {
  Ran ran{.control = std::make_shared<StallControl>(options)};
  ran.status = command.run({world, ran.control});
  ran.control->end();
  return ran;
}

std::string shown(const Status& status) {
  return status ? std::string("OK") : concat(code_name(status.error().code), ": ", status.error().message);
}

// The data of all worlds: with a file that a row refers to, and before that was there.
const std::shared_ptr<Store>& data(bool early) {
  static const std::shared_ptr<Store> now = make_data(false);
  static const std::shared_ptr<Store> before = make_data(true);
  return early ? before : now;
}

World make_world(const InitialState& state, int quarter) {
  World world{.data = data(false)};
  std::vector<std::string_view> commands = state.commands;
  commands.insert(commands.begin(), "train-model");
  for (std::size_t i = 0; i < commands.size(); ++i) {
    world.data = data(state.early && i == 1);
    const Ran ran = run(*find_command(commands[i]), world);
    if (ran.status) continue;
    give_up(concat("state ", state.name, ": ", shown(ran.status)));
  }
  world.data = data(false);
  if (state.killed.empty()) return world;
  const TestCommand& killed = *find_command(state.killed);
  const std::uint64_t calls = run(killed, clone(world)).control->calls();
  const std::uint64_t at = std::min(calls * static_cast<std::uint64_t>(quarter) / 4, calls - 1);
  run(killed, world, {.kill_at = std::max<std::uint64_t>(1, at)});
  return world;
}

World initial_world(const InitialState& state, int quarter) {
  static std::mutex mutex;
  static std::map<std::pair<std::string_view, int>, World> worlds;
  const std::scoped_lock lock(mutex);
  const auto [at, is_new] = worlds.try_emplace({state.name, quarter});
  if (is_new) at->second = make_world(state, quarter);
  return clone(at->second);
}

// A refusal that leaves nothing to clear up, of a command that nobody killed.
bool is_refusal(const Status& status) {
  if (status) return false;
  const Code code = status.error().code;
  return code == Code::kFailedPrecondition || code == Code::kNotFound || code == Code::kInvalidArgument;
}

// The view of readers. `rm` leaves objects that are written later, and an evaluation is one that nothing
// publishes; so is what a learning curve keeps.
Seen seen_by_readers(const Pair& pair, const World& world) {
  Seen seen = observe(world);
  const auto either_is = [&](std::string_view name) { return pair.a->name == name || pair.b->name == name; };
  if (either_is("evaluate") && either_is("rm")) seen.erase("evaluations");
  if (either_is("rm")) {
    std::erase_if(seen, [](const auto& at) {
      return at.first.starts_with(kCurveScores) || at.first.starts_with(kCurveReports);
    });
  }
  return seen;
}

// Whether one of them removes what logs hold, as it is told to.
bool removes_logs(const Pair& pair) {
  const auto removes = [](std::string_view name) { return name == "rm" || name == "sync-delete"; };
  return removes(pair.a->name) || removes(pair.b->name);
}

// Whether a command that succeeded may have come at this place of a serial order. A command that removes or
// copies learns that nothing is there, unless another is still removing it.
bool may_succeed(std::string_view command, const std::optional<Status>& ended) {
  const bool finds_remains = command == "rm" || command == "sync-from";
  return ended && (*ended || (finds_remains && ended->error().code == Code::kNotFound));
}

bool is_allowed(const Pair& pair, const SerialOrder& order, const std::array<Ran, 2>& ran) {
  for (std::size_t i = 0; i < 2; ++i) {
    if ((i == 0 ? pair.a : pair.b)->is_reader) continue;  // it may see a run that has only begun
    const std::optional<Status>& ended = order.ended[i];
    if (ran[i].status && !may_succeed(i == 0 ? pair.a->name : pair.b->name, ended)) return false;
    if (!ran[i].status && !ran[i].control->was_killed() && ended && *ended) return false;
  }
  return true;
}

std::string value_at(const Seen& seen, const std::string& key) {
  const auto found = seen.find(key);
  return found == seen.end() ? "nothing" : found->second;
}

// Whether readers see the result of one of the orders; of a command that failed, each place may be as before
// or after.
void check_seen(const Seen& seen, const std::vector<const SerialOrder*>& orders, bool all_succeeded,
                bool rm_failed, std::vector<std::string>& problems) {
  if (orders.empty()) {
    problems.emplace_back("no serial order ends with these exit codes");
    return;
  }
  const auto is_same = [&](const SerialOrder* order) { return order->seen == seen; };
  if (std::ranges::any_of(orders, is_same)) return;
  if (all_succeeded) {
    std::string what;
    for (const auto& [key, value] : seen) what += concat("\n", key, ": ", value);
    problems.push_back(concat("readers see what no serial order makes:", what));
    for (const SerialOrder* order : orders) {
      what.clear();
      for (const auto& [key, value] : order->seen) what += concat("\n", key, ": ", value);
      problems.push_back(concat("an order makes:", what));
    }
    return;
  }
  std::set<std::string> keys;
  for (const auto& [key, value] : seen) keys.insert(key);
  for (const SerialOrder* order : orders) {
    for (const auto& [key, value] : order->seen) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const std::string value = value_at(seen, key);
    if (value == "nothing" && rm_failed) continue;  // it stops where something was begun anew, and says so
    // An epoch before the last; an earlier version, of which sync copies all. Both are whole.
    if (value.starts_with("keras-checkpoint") || key.starts_with("copy/")) continue;
    if (std::ranges::any_of(orders,
                            [&](const SerialOrder* order) { return value_at(order->seen, key) == value; }))
      continue;
    problems.push_back(concat("at ", key, " readers see what no serial order makes: ", value));
  }
}

void check_codes(const Pair& pair, const std::array<Ran, 2>& ran, std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Status& status = ran[i].status;
    const bool is_expected =
        status || ran[i].control->was_killed() || is_refusal(status) || status.error().code == Code::kAborted;
    if (!is_expected)
      problems.push_back(concat(i == 0 ? pair.a->name : pair.b->name, " failed: ", shown(status)));
  }
}

void append(std::vector<std::string>& to, std::string_view about, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) to.push_back(concat(about, line));
}

// A plan that is still in force can be executed.
void execute_plan(const World& world, Verdict& verdict) {
  const auto chain = read_chain(location(world.out, "out", "x"));
  const bool is_planned = chain && !chain->is_free() && chain->last == chain->entry;
  if (!is_planned) return;
  const Ran done = run(*find_command("execute"), world);
  if (!done.status) verdict.problems.push_back(concat("its plan cannot be executed: ", shown(done.status)));
}

void repeat(const Pair& pair, const Case& which, const World& world, Verdict& verdict) {
  const TestCommand& command = which.repeated == 0 ? *pair.a : *pair.b;
  const Ran again = run(command, world);
  // A killed command may leave what the other one is right to refuse.
  const bool always_ends_well = (which.kill_b == 0 || which.repeated == 1) &&
                                std::ranges::all_of(pair.orders, [&](const SerialOrder& order) {
                                  return order.repeats_well[which.repeated];
                                });
  // A copy is refused while what a killed command was removing lacks parts.
  const bool is_incomplete = command.name == "sync-from" && which.kill_b > 0 && !again.status &&
                             again.status.error().code == Code::kAborted;
  if (!again.status && !is_incomplete && (always_ends_well || !is_refusal(again.status)))
    verdict.problems.push_back(concat("once more, ", command.name, " fails: ", shown(again.status)));
  // Only the same command clears away what is left of a killed one.
  const bool cleans_up = pair.state->killed.empty() && (which.kill_b == 0 || which.repeated == 1);
  append(verdict.problems, concat("after ", command.name, " once more: "),
         find_damage(world, again.status && cleans_up ? Strictness::kAll : Strictness::kReaders));
  if (!verdict.problems.empty()) append(verdict.trace, "once more: ", again.control->trace());
}

SerialOrder run_order(const Pair& pair, const std::vector<std::size_t>& order) {
  SerialOrder made{.order = order};
  const World world = clone(pair.initial);
  for (const std::size_t i : order) made.ended[i] = run(i == 0 ? *pair.a : *pair.b, world).status;
  made.seen = seen_by_readers(pair, world);
  for (std::size_t i = 0; i < 2; ++i) {
    const World copy = clone(world);
    made.repeats_well[i] = run(i == 0 ? *pair.a : *pair.b, copy).status.has_value();
  }
  return made;
}

}  // namespace

std::span<const InitialState> initial_states() {
  static const std::vector<InitialState> states = {
      {"nothing"},
      {"dataset", {"prepare"}, "", true},
      {"appended", {"prepare", "prepare-append"}, "", true},
      {"planned", {"plan"}},
      {"executed", {"plan", "execute"}},
      {"append-planned", {"prepare", "plan-append"}},
      {"append-executed", {"prepare", "plan-append", "execute"}},
      {"run", {"train"}},
      {"named", {"train-name", "train-other-name"}},
      {"keras", {"keras"}},
      {"predictions", {"predict"}},
      {"removed-dataset", {"prepare", "rm"}},
      {"removed-run", {"train", "rm"}},
      {"half-prepare", {}, "prepare"},
      {"half-append", {"prepare"}, "prepare-append", true},
      {"half-overwrite", {"prepare"}, "prepare-overwrite", true},
      {"half-rm", {"prepare"}, "rm"},
      {"half-train", {}, "train-name"},
      {"half-train-overwrite", {"train-name"}, "train-overwrite-name"},
      {"half-keras", {}, "keras"},
      {"half-predict", {}, "predict"},
      {"metrics", {"metrics-log"}},
      {"half-metrics", {}, "metrics-log"},
      {"half-metrics-many", {}, "metrics-log-many"},
      {"half-metrics-long", {}, "metrics-log-long"},
      {"half-media", {}, "media-log"},
      {"half-metrics-compact", {"metrics-log"}, "metrics-compact"},
      {"requests", {"requests-serve"}},
      {"half-requests", {}, "requests-serve-same"},
      {"artifacts", {"artifact-log"}},
      {"artifacts-2", {"artifact-log", "artifact-log-other"}},
      {"unnamed-artifacts", {"artifact-begin"}},
      {"half-artifacts", {}, "artifact-log"},
      {"curves", {"curve"}},
      {"half-artifacts-gc", {"artifact-log-other", "artifact-begin"}, "gc"},
  };
  return states;
}

Pair make_pair(const TestCommand& a, const TestCommand& b, const InitialState& state, int quarter) {
  Pair pair{.a = &a, .b = &b, .state = &state, .quarter = quarter, .initial = initial_world(state, quarter)};
  pair.calls = {run(a, clone(pair.initial)).control->calls(), run(b, clone(pair.initial)).control->calls()};
  for (const std::vector<std::size_t>& order :
       std::vector<std::vector<std::size_t>>{{}, {0}, {1}, {0, 1}, {1, 0}})
    pair.orders.push_back(run_order(pair, order));
  return pair;
}

std::string name_of(const Pair& pair, const Case& which) {
  return concat(pair.a->name, ",", pair.b->name, ",", pair.state->name, ",", pair.quarter, ",", which.stall_a,
                ",", which.kill_b, ",", which.repeated);
}

Verdict run_case(const Pair& pair, const Case& which) {
  Verdict verdict;
  const World world = clone(pair.initial);
  std::array<Ran, 2> ran;
  ran[0].control = std::make_shared<StallControl>(StallOptions{.stall_at = which.stall_a});
  std::jthread a([&] {
    ran[0].status = pair.a->run({world, ran[0].control});
    ran[0].control->end();
  });
  ran[0].control->wait_for_stall();
  ran[1] = run(*pair.b, world, {.kill_at = which.kill_b});
  append(verdict.problems, "while A is stalled: ", find_damage(world, Strictness::kReaders));
  const std::size_t published = world.out->manifests().size();
  ran[0].control->release();
  a.join();

  const bool was_killed = ran[1].control->was_killed();
  const bool all_succeeded = ran[0].status && ran[1].status;
  append(
      verdict.problems, "",
      find_damage(world, all_succeeded && !was_killed && pair.state->killed.empty() ? Strictness::kAll
                                                                                    : Strictness::kReaders));
  check_codes(pair, ran, verdict.problems);
  for (const std::string& log : world.out->shortened()) {
    if (!removes_logs(pair)) verdict.problems.push_back(concat(log, " has lost what nothing else holds"));
  }
  std::vector<const SerialOrder*> allowed;
  for (const SerialOrder& order : pair.orders) {
    if (is_allowed(pair, order, ran)) allowed.push_back(&order);
  }
  // B may have been killed between two places. That A found the first one changed says nothing of the second.
  for (const SerialOrder& order : pair.orders) {
    const bool is_without_b = std::ranges::find(order.order, 1U) == order.order.end();
    if (was_killed && is_without_b && !allowed.empty()) allowed.push_back(&order);
  }
  const bool rm_failed = (pair.a->name == "rm" && !ran[0].status) || (pair.b->name == "rm" && !ran[1].status);
  check_seen(seen_by_readers(pair, world), allowed, all_succeeded, rm_failed, verdict.problems);
  const bool has_lost = !ran[0].status && ran[0].status.error().code == Code::kAborted;
  const std::vector<std::string> manifests = world.out->manifests();
  for (std::size_t i = published; has_lost && ran[1].status && i < manifests.size(); ++i) {
    if (manifests[i].starts_with("x/"))
      verdict.problems.push_back(concat(pair.a->name, " has lost, and has published ", manifests[i]));
  }
  if (pair.b->name.starts_with("plan") && ran[1].status && !has_lost) execute_plan(world, verdict);
  repeat(pair, which, world, verdict);
  if (verdict.problems.empty()) return verdict;
  std::vector<std::string> trace;
  append(trace, "A: ", ran[0].control->trace());
  trace.push_back(concat("A ends: ", shown(ran[0].status)));
  append(trace, "B: ", ran[1].control->trace());
  trace.push_back(concat("B ends: ", shown(ran[1].status)));
  verdict.trace.insert(verdict.trace.begin(), trace.begin(), trace.end());
  return verdict;
}

}  // namespace headrace::interleave
