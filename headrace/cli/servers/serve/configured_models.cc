#include "headrace/cli/servers/serve/configured_models.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEach{5};
constexpr std::chrono::seconds kStartAgainAfter{5};

// Whether a version that the server may choose is ready.
bool is_ready(const LiveModel& live, const ModelConfiguration& configuration) {
  std::vector<VersionName> released;
  if (configuration.canary) released.push_back(configuration.canary->version);
  if (configuration.shadow) released.push_back(configuration.shadow->version);
  return live.find({}, {}, released).has_value();
}

}  // namespace

ConfiguredModels::ConfiguredModels(ServedModels& served, ConfiguredModelsParts parts,
                                   const ServingConfiguration& first)
    : served_models_(served), parts_(std::move(parts)) {
  for (const auto& [name, model] : first.models) {
    Coming coming{model};
    start(name, coming);
    if (coming.live)
      served_[name] = {model, make_entry(name, model, coming.live, nullptr)};
    else
      coming_[name] = std::move(coming);
  }
  publish();
}

ConfiguredModels::~ConfiguredModels() {
  stop();
  for (auto& [name, served] : served_) retire(std::move(served.entry), true, {});
  served_.clear();
  while (!coming_.empty()) retire_coming(coming_.begin()->first);
  publish();
  for (end_retired(); !retired_.empty(); end_retired()) std::this_thread::sleep_for(kLookEach);
}

void ConfiguredModels::start(const std::string& name, Coming& coming) const {
  try {
    coming.live = parts_.start(name, coming.configuration);
  } catch (const std::system_error& error) {
    coming.start_again_at = Clock::now() + kStartAgainAfter;
    parts_.remark(concat(name, ": cannot start a thread, and will try again: ", error.what()));
  }
}

// Releases that have not changed since `before` are kept; a shadow only if its model is the same, because it
// borrows the model.
std::shared_ptr<const ServedEntry> ConfiguredModels::make_entry(const std::string& name,
                                                                const ModelConfiguration& configuration,
                                                                std::shared_ptr<LiveModel> live,
                                                                const ServedEntry* before) const {
  auto entry = std::make_shared<ServedEntry>();
  entry->live = std::move(live);
  entry->deadline = configuration.deadline;
  const auto& canary = configuration.canary;
  if (canary && before != nullptr && before->canary && before->canary->options() == *canary)
    entry->canary = before->canary;
  else if (canary)
    entry->canary = std::make_shared<Canary>(name, *canary, parts_.remark);
  const auto& shadow = configuration.shadow;
  const bool is_same_model = before != nullptr && before->live == entry->live;
  if (shadow && is_same_model && before->shadow && before->shadow->options() == *shadow)
    entry->shadow = before->shadow;
  else if (shadow)
    entry->shadow = start_shadow(name, *entry->live, *shadow);
  return entry;
}

// Null if the system refuses a thread.
std::shared_ptr<Shadow> ConfiguredModels::start_shadow(const std::string& name, const LiveModel& live,
                                                       const ShadowOptions& options) const {
  try {
    return std::make_shared<Shadow>(live, options);
  } catch (const std::system_error& error) {
    parts_.remark(concat(name, ": there is no shadow, since the system refuses a thread: ", error.what()));
    return nullptr;
  }
}

void ConfiguredModels::change_to(const ServingConfiguration& configuration) {
  const auto is_gone = [&](const auto& each) { return !configuration.models.contains(each.first); };
  std::vector<std::string> not_awaited;
  for (const auto& each : coming_) {
    if (is_gone(each)) not_awaited.push_back(each.first);
  }
  for (const std::string& name : not_awaited) retire_coming(name);
  std::erase_if(served_, [&](auto& each) {
    if (!is_gone(each)) return false;
    parts_.remark(concat(each.first, ": the model is not served any more"));
    retire(std::move(each.second.entry), true, parts_.drain_max);
    return true;
  });
  for (const auto& [name, model] : configuration.models) change_model(name, model);
  publish();
}

void ConfiguredModels::change_model(const std::string& name, const ModelConfiguration& configuration) {
  const auto served = served_.find(name);
  if (served != served_.end()) {
    change_served(name, served->second, configuration);
    if (configuration.loads_as(served->second.configuration)) return retire_coming(name);
  }
  const auto coming = coming_.find(name);
  if (coming != coming_.end() && configuration.loads_as(coming->second.configuration)) {
    coming->second.configuration = configuration;
    return;
  }
  retire_coming(name);
  Coming& next = coming_[name];
  next.configuration = configuration;
  start(name, next);
}

// Applies everything that needs no load, even while another model is being loaded.
void ConfiguredModels::change_served(const std::string& name, Served& served,
                                     const ModelConfiguration& configuration) {
  ModelConfiguration changed = served.configuration;
  changed.deadline = configuration.deadline;
  changed.canary = configuration.canary;
  changed.shadow = configuration.shadow;
  if (changed == served.configuration) return;
  served.configuration = std::move(changed);
  auto entry = make_entry(name, served.configuration, served.entry->live, served.entry.get());
  served.entry.swap(entry);
  retire(std::move(entry), false, {});
  parts_.remark(concat(name, ": the configuration has changed"));
}

void ConfiguredModels::retire(std::shared_ptr<const ServedEntry> entry, bool ends_model,
                              std::chrono::milliseconds time) {
  retired_.push_back({std::move(entry), ends_model, Clock::now() + time});
}

void ConfiguredModels::retire_coming(const std::string& name) {
  const auto coming = coming_.extract(name);
  if (coming.empty() || !coming.mapped().live) return;
  auto entry = std::make_shared<ServedEntry>();
  entry->live = std::move(coming.mapped().live);
  retire(std::move(entry), true, {});
}

void ConfiguredModels::set_status(ConfigurationStatus status) {
  status_ = std::move(status);
  publish();
}

std::vector<ConfiguredModels::Withdrawal> ConfiguredModels::take_withdrawals() {
  std::vector<Withdrawal> out;
  for (auto& [name, served] : served_) {
    const std::shared_ptr<Canary>& canary = served.entry->canary;
    if (!canary || served.told == canary) continue;
    const auto withdrawn = canary->counts().withdrawn;
    if (!withdrawn) continue;
    served.told = canary;
    out.push_back({name, canary->options().version, *withdrawn});
  }
  return out;
}

void ConfiguredModels::remark_absent_versions() {
  for (auto& [name, served] : served_) {
    if (!can_answer(*served.entry)) continue;
    std::vector<VersionName> absent;
    for (const VersionName& version : released_versions(*served.entry)) {
      const auto found = served.entry->live->find(version);
      if (found || found.error().code != Code::kNotFound) continue;
      absent.push_back(version);
      if (std::ranges::count(served.absent, version) != 0) continue;
      parts_.remark(concat(name, ": the canary or shadow gets no requests: ", found.error().message,
                           ", and none is loaded for it"));
    }
    served.absent = std::move(absent);
  }
}

void ConfiguredModels::attend() {
  bool has_changed = false;
  for (auto at = coming_.begin(); at != coming_.end();) {
    const std::string& name = at->first;
    Coming& coming = at->second;
    if (!coming.live && Clock::now() >= coming.start_again_at) start(name, coming);
    if (!coming.live || !is_ready(*coming.live, coming.configuration)) {
      ++at;
      continue;
    }
    Served& served = served_[name];
    const bool is_same_place = coming.configuration.place == served.configuration.place;
    auto entry =
        make_entry(name, coming.configuration, coming.live, is_same_place ? served.entry.get() : nullptr);
    served.configuration = coming.configuration;
    served.entry.swap(entry);
    if (entry) retire(std::move(entry), true, parts_.drain_max);
    parts_.remark(concat(name, ": the model is served as it is configured now"));
    at = coming_.erase(at);
    has_changed = true;
  }
  if (has_changed) publish();
  end_retired();
}

// A model ends in this thread, once no request holds its entry any more and nobody can find it.
void ConfiguredModels::end_retired() {
  std::erase_if(retired_, [](Retired& each) {
    const bool is_held = each.entry.use_count() > 1 || (each.ends_model && each.entry->live.use_count() > 1);
    if (is_held && each.ends_model && !each.is_stopped && Clock::now() >= each.drain_until) {
      each.entry->live->stop();
      each.is_stopped = true;
    }
    return !is_held;
  });
}

void ConfiguredModels::publish() {
  ModelTable table{.configuration = status_};
  for (const auto& [name, served] : served_) table.models[name] = served.entry;
  for (const auto& [name, coming] : coming_) {
    if (coming.live) table.coming[name] = coming.live;
  }
  served_models_.publish(std::move(table));
}

void ConfiguredModels::stop() {
  for (const auto& [name, served] : served_) served.entry->live->stop();
  for (const auto& [name, coming] : coming_) {
    if (coming.live) coming.live->stop();
  }
  for (const Retired& retired : retired_) {
    if (retired.ends_model) retired.entry->live->stop();
  }
}

}  // namespace headrace
