#include "headrace/cli/servers/serve/configuration_thread.h"

#include <algorithm>
#include <random>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAttendEach{50};
constexpr std::chrono::milliseconds kSettle{1'000};  // between the two looks at a change

std::string version_text(const VersionName& version) {
  if (const auto* const number = std::get_if<std::uint64_t>(&version)) return concat(*number);
  return std::get<std::string>(version);
}

// The names of models that were added, removed and changed.
std::map<std::string, std::string> differences(const ServingConfiguration& before,
                                               const ServingConfiguration& now) {
  std::vector<std::string> added, removed, changed;
  for (const auto& [name, model] : now.models) {
    const auto old = before.models.find(name);
    if (old == before.models.end()) {
      added.push_back(name);
    } else if (!(old->second == model)) {
      changed.push_back(name);
    }
  }
  for (const auto& [name, model] : before.models) {
    if (!now.models.contains(name)) removed.push_back(name);
  }
  return {{"change", "the configuration"},
          {"added", join(added, ", ")},
          {"removed", join(removed, ", ")},
          {"changed", join(changed, ", ")}};
}

}  // namespace

ConfigurationThread::ConfigurationThread(ConfiguredModels& models, FollowedConfiguration followed,
                                         std::chrono::milliseconds poll_each, RecordChange record_change,
                                         std::function<void(const std::string&)> remark)
    : models_(models),
      followed_(std::move(followed)),
      poll_each_(poll_each),
      record_change_(std::move(record_change)),
      remark_(std::move(remark)),
      status_{.place = followed_.describe()} {
  models_.set_status(status_);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void ConfigurationThread::work(const std::stop_token& stop) {
  std::mt19937_64 jitter(random_name_bits());
  std::uniform_int_distribution<std::int64_t> later(0, poll_each_.count() / 4);
  const auto next_poll = [&] { return Clock::now() + poll_each_ + std::chrono::milliseconds(later(jitter)); };
  Clock::time_point poll_at = next_poll();
  while (!stop.stop_requested()) {
    models_.attend();
    models_.remark_absent_versions();
    for (const ConfiguredModels::Withdrawal& each : models_.take_withdrawals()) {
      record({{"change", "the canary is withdrawn"},
              {"model", each.model},
              {"version", version_text(each.version)},
              {"reason", each.reason}},
             stop);
    }
    if (Clock::now() >= poll_at) {
      poll(stop);
      poll_at = followed_.is_settling() ? Clock::now() + std::min(kSettle, poll_each_) : next_poll();
    }
    std::this_thread::sleep_for(kAttendEach);
  }
}

void ConfigurationThread::poll(const std::stop_token& stop) {
  const ServingConfiguration before = followed_.current();
  const auto has_changed = followed_.poll({.stop = stop});
  if (stop.stop_requested()) return;
  if (!has_changed) return tell(has_changed.error());
  if (*has_changed) {
    remark_(concat("the configuration ", status_.place, " has changed"));
    models_.change_to(followed_.current());
    ++status_.changes;
    status_.problem.reset();
    models_.set_status(status_);
    record(differences(before, followed_.current()), stop);
  }
  tell(std::nullopt);
}

// A change is in force whether or not it can be recorded.
void ConfigurationThread::record(const std::map<std::string, std::string>& facts,
                                 const std::stop_token& stop) const {
  const std::string& root = followed_.current().record;
  if (root.empty()) return;
  const Status recorded = record_change_(root, facts, {.stop = stop});
  if (!recorded) remark_(concat("recording a change in ", root, ": ", recorded.error().message));
}

void ConfigurationThread::tell(const std::optional<Error>& problem) {
  const auto text = problem ? std::optional(problem->message) : std::nullopt;
  if (text == status_.problem) return;
  status_.problem = text;
  models_.set_status(status_);
  remark_(text ? concat("the configuration stays as it was: ", *text)
               : concat("the configuration ", status_.place, " is in order again"));
}

}  // namespace headrace
