// Runs cases of a seed, or one that is named. README.md says what a case is.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "tests/interleave/cases.h"
#include "tests/interleave/output.h"

namespace headrace::interleave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kShownFailures = 20;

struct Options {
  std::uint64_t cases = 2'000;
  std::uint64_t seed = 44;
  std::uint64_t seconds = 0;  // no new case begins after this time; 0: no limit
  std::uint64_t jobs = 2;
  std::string one{};                // --case
  std::set<std::string> only{};     // both commands of a pair are among these; empty: any
  std::set<std::string> without{};  // neither is
  bool lists = false;
};

// The kind of thing that a command is about; those of one kind meet in states of that kind.
char kind_of(std::string_view name) {
  const auto begins = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (begins("artifact")) return 'a';
  if (begins("curve")) return 'c';
  if (begins("metrics") || begins("media")) return 'm';
  if (begins("requests")) return 'q';
  if (begins("keras")) return 'k';
  if (begins("predict")) return 'p';
  if (begins("train") || begins("evaluate") || name == "run" || begins("named") || begins("-run")) return 'r';
  for (const char* word :
       {"prepare", "plan", "execute", "publish", "append", "dataset", "overwrite", "half-rm"}) {
    if (begins(word)) return 'd';
  }
  return '-';
}

bool is_worthwhile(const TestCommand& a, const TestCommand& b, const InitialState& state) {
  const char of_a = kind_of(a.name), of_b = kind_of(b.name), of_state = kind_of(state.name);
  if (a.name == "train-model" || b.name == "train-model" || (a.is_reader && b.is_reader)) return false;
  const auto is_of_logs = [](char kind) { return kind == 'a' || kind == 'c' || kind == 'm' || kind == 'q'; };
  if (is_of_logs(of_a) || is_of_logs(of_b) || is_of_logs(of_state)) {  // no stage writes where a log lies
    const char kind = is_of_logs(of_a) ? of_a : of_b;
    const auto meets = [&](char other) { return other == kind || other == '-'; };
    const bool is_copied = a.name.starts_with("sync") || b.name.starts_with("sync");
    if (kind == 'c' && is_copied) return false;  // it asks nothing of a folder of scores
    return is_of_logs(kind) && meets(of_a) && meets(of_b) && (of_state == kind || state.name == "nothing");
  }
  return of_state == '-' || of_state == of_a || of_state == of_b || (of_a == '-' && of_b == '-');
}

struct Unit {
  const TestCommand* a;
  const TestCommand* b;
  const InitialState* state;
  int quarter;
};

// All pairs in all states, in an order that the seed decides.
std::vector<Unit> all_units(const Options& options) {
  std::vector<Unit> units;
  const auto takes = [&](const TestCommand& command) {
    const std::string name(command.name);
    return (options.only.empty() || options.only.contains(name)) && !options.without.contains(name);
  };
  for (const TestCommand& a : test_commands()) {
    for (const TestCommand& b : test_commands()) {
      for (const InitialState& state : initial_states()) {
        if (!takes(a) || !takes(b) || !is_worthwhile(a, b, state)) continue;
        for (int quarter = state.killed.empty() ? 0 : 1; quarter <= (state.killed.empty() ? 0 : 4); ++quarter)
          units.push_back({&a, &b, &state, quarter});
      }
    }
  }
  std::shuffle(units.begin(), units.end(),
               std::mt19937_64(options.seed));  // NOLINT: the seed is what makes it repeat
  return units;
}

class Campaign {
 public:
  Campaign(const Options& options)
      : options_(options),
        units_(all_units(options)),
        end_(Clock::now() + std::chrono::seconds(options.seconds)) {}

  int run() {
    const auto start = Clock::now();
    {
      std::vector<std::jthread> workers;
      for (std::uint64_t i = 0; i < options_.jobs; ++i) workers.emplace_back([this] { work(); });
    }
    const auto took = std::chrono::duration<double>(Clock::now() - start).count();
    for (const auto& [pair, count] : failures_) print(concat("  ", count, " of ", pair));
    print(concat(cases_.load(), " cases of ", pairs_.size(), " pairs of commands (", done_units_.load(),
                 " of ", units_.size(), " with their states), ", failed_.load(), " failed; seed ",
                 options_.seed, ", ", static_cast<std::uint64_t>(took), " s"));
    return failed_ == 0 && cases_ > 0 ? 0 : 1;
  }

 private:
  bool is_over() const { return cases_ >= options_.cases || (options_.seconds > 0 && Clock::now() >= end_); }

  void work() {
    while (!is_over()) {
      const std::size_t at = next_++;
      if (at >= units_.size()) return;
      const Unit& unit = units_[at];
      const Pair pair = make_pair(*unit.a, *unit.b, *unit.state, unit.quarter);
      for (std::uint64_t n = 1; n <= pair.calls[0] && !is_over(); ++n) {
        const std::uint64_t random = mix(mix(options_.seed, at), n);
        take(pair, {.stall_a = n, .repeated = random % 2});
        if (pair.calls[1] == 0 || pair.b->is_reader || is_over()) continue;
        take(pair, {.stall_a = n, .kill_b = 1 + random / 4 % pair.calls[1], .repeated = random / 2 % 2});
      }
      const std::scoped_lock lock(mutex_);
      pairs_.insert(concat(unit.a->name, ",", unit.b->name));
      ++done_units_;
    }
  }

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e37'79b9'7f4a'7c15ULL + b + 1;  // SplitMix64
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebULL;
    return x ^ (x >> 31);
  }

  void take(const Pair& pair, const Case& which) {
    const Verdict verdict = run_case(pair, which);
    ++cases_;
    if (verdict.problems.empty()) return;
    const std::scoped_lock lock(mutex_);
    ++failures_[concat(pair.a->name, ",", pair.b->name, ",", pair.state->name)];
    if (++failed_ > kShownFailures) return;
    print(concat("FAILED --case ", name_of(pair, which)));
    for (const std::string& problem : verdict.problems) print(concat("  ", problem));
    if (failed_ > 3) return;
    for (const std::string& line : verdict.trace) print(concat("    ", line));
  }

  const Options options_;
  const std::vector<Unit> units_;
  const Clock::time_point end_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> cases_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> done_units_{0};
  std::mutex mutex_;
  std::set<std::string> pairs_;
  std::map<std::string, std::uint64_t> failures_;
};

int run_one(const std::string& name) {
  const std::vector<std::string> words = split(name, ',');
  const TestCommand* const a = words.size() == 7 ? find_command(words[0]) : nullptr;
  const TestCommand* const b = words.size() == 7 ? find_command(words[1]) : nullptr;
  const auto states = initial_states();
  const auto state =
      std::ranges::find(states, words.size() == 7 ? std::string_view(words[2]) : "", &InitialState::name);
  if (a == nullptr || b == nullptr || state == states.end()) {
    print("--case takes A,B,STATE,QUARTER,N,M,REPEATED, as a failure prints it; --list shows the names");
    return 2;
  }
  const auto number = [&](std::size_t i) { return parse_number<std::uint64_t>(words[i]).value_or(0); };
  const Pair pair = make_pair(*a, *b, *state, static_cast<int>(number(3)));
  const Verdict verdict = run_case(pair, {number(4), number(5), number(6)});
  for (const SerialOrder& order : pair.orders) {
    std::string line = "  serial:";
    for (const std::size_t i : order.order)
      line += concat(" ", i == 0 ? a->name : b->name, " (",
                     *order.ended[i] ? "OK" : code_name(order.ended[i]->error().code), ")");
    for (std::size_t i = 0; i < 2; ++i)
      line += concat(i == 0 ? "; once more: " : ", ", order.repeats_well[i] ? "OK" : "no");
    print(line);
  }
  for (const std::string& problem : verdict.problems) print(concat("  ", problem));
  for (const std::string& line : verdict.trace) print(concat("    ", line));
  print(verdict.problems.empty() ? "good" : "FAILED");
  return verdict.problems.empty() ? 0 : 1;
}

void list_names() {
  print("commands:");
  for (const TestCommand& command : test_commands()) print(concat("  ", command.name));
  print("states:");
  for (const InitialState& state : initial_states()) print(concat("  ", state.name));
}

std::set<std::string> names(const std::string& text) {
  const std::vector<std::string> all = split(text, ',');
  return {all.begin(), all.end()};
}

Result<Options> parse(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string name = arguments[i];
    if (name == "--list") {
      options.lists = true;
      continue;
    }
    if (++i == arguments.size()) return Error{Code::kInvalidArgument, name + " needs a value"};
    const std::string value = arguments[i];
    const std::map<std::string, std::uint64_t*> numbers = {{"--cases", &options.cases},
                                                           {"--seed", &options.seed},
                                                           {"--seconds", &options.seconds},
                                                           {"--jobs", &options.jobs}};
    const auto number = parse_number<std::uint64_t>(value);
    if (numbers.contains(name) && number) {
      *numbers.at(name) = *number;
    } else if (name == "--case") {
      options.one = value;
    } else if (name == "--only") {
      options.only = names(value);
    } else if (name == "--without") {
      options.without = names(value);
    } else {
      return Error{Code::kInvalidArgument, concat(name, " ", value, " is not understood")};
    }
  }
  return options;
}

}  // namespace
}  // namespace headrace::interleave

int main(int argc, char** argv) {
  using namespace headrace::interleave;
  silence_commands();
  const auto options = parse({argv, argv + argc});
  if (!options) {
    print(options.error().message);
    return 2;
  }
  if (options->lists) {
    list_names();
    return 0;
  }
  if (!options->one.empty()) return run_one(options->one);
  return Campaign(*options).run();
}
