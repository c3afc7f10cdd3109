#pragma once

/// \file Starts and changes a server's models as a configuration says, while requests arrive.
/// docs/decisions/serving.md, "A configuration of many models".

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headrace/cli/servers/serve/served_models.h"
#include "headrace/serve/configuration/serving_configuration.h"

namespace headrace {

struct ConfiguredModelsParts {
  /// Starts to load a model. Returns at once. Throws std::system_error if the system refuses a thread.
  std::function<std::shared_ptr<LiveModel>(const std::string& name, const ModelConfiguration&)> start;
  /// Tells an operator what happens, in sentences. Called from any thread.
  std::function<void(const std::string&)> remark;
  /// How long running requests of a removed or replaced model may take.
  std::chrono::milliseconds drain_max{30'000};
};

/// Owns the models that `served` publishes. Not thread-safe.
class ConfiguredModels {
 public:
  /// Starts the models of `first`. `served` must outlive this; it has these models at once, whether or not
  /// they are ready.
  ConfiguredModels(ServedModels& served, ConfiguredModelsParts parts, const ServingConfiguration& first);
  /// Ends all models, as `stop`, and waits for those that hold them. REQUIRES: no more requests arrive
  ~ConfiguredModels();
  /// Whether every model of `first` was started; the system may have refused a thread. Call it before
  /// `change_to`.
  bool has_started_all() const { return coming_.empty(); }
  ConfiguredModels(const ConfiguredModels&) = delete;
  ConfiguredModels& operator=(const ConfiguredModels&) = delete;

  /// Changes the models to those of `configuration`. Models that are added, or must be loaded again, replace
  /// others once they are ready. Removed models are no longer served when this returns. All other changes
  /// apply at once.
  void change_to(const ServingConfiguration& configuration);
  /// Publishes the status together with the models.
  void set_status(ConfigurationStatus status);
  struct Withdrawal {
    std::string model;
    VersionName version;
    std::string reason;
  };
  /// The canaries that were withdrawn since the last call.
  std::vector<Withdrawal> take_withdrawals();
  /// Tells an operator, once for each, about versions of canaries and shadows that a ready model neither has
  /// nor loads.
  void remark_absent_versions();
  /// Call it regularly. Lets models that have become ready replace others, and ends models that nobody holds
  /// any more.
  void attend();
  /// Ends everything at once, including running requests.
  void stop();

 private:
  struct Served {
    ModelConfiguration configuration;
    std::shared_ptr<const ServedEntry> entry;
    std::shared_ptr<Canary> told{};     // the canary whose withdrawal was taken
    std::vector<VersionName> absent{};  // versions of its releases that were remarked on
  };
  struct Coming {
    ModelConfiguration configuration;
    std::shared_ptr<LiveModel> live;  // null: the system has refused a thread
    std::chrono::steady_clock::time_point start_again_at{};
  };
  // An entry that is no longer published.
  struct Retired {
    std::shared_ptr<const ServedEntry> entry;
    bool ends_model;
    std::chrono::steady_clock::time_point drain_until;
    bool is_stopped = false;
  };
  std::shared_ptr<const ServedEntry> make_entry(const std::string& name,
                                                const ModelConfiguration& configuration,
                                                std::shared_ptr<LiveModel> live,
                                                const ServedEntry* before) const;
  void start(const std::string& name, Coming& coming) const;
  std::shared_ptr<Shadow> start_shadow(const std::string& name, const LiveModel& live,
                                       const ShadowOptions& options) const;
  void change_model(const std::string& name, const ModelConfiguration& configuration);
  void change_served(const std::string& name, Served& served, const ModelConfiguration& configuration);
  void retire(std::shared_ptr<const ServedEntry> entry, bool ends_model, std::chrono::milliseconds time);
  void retire_coming(const std::string& name);
  void end_retired();
  void publish();

  ServedModels& served_models_;
  const ConfiguredModelsParts parts_;
  std::map<std::string, Served, std::less<>> served_;
  std::map<std::string, Coming, std::less<>> coming_;
  std::vector<Retired> retired_;
  std::optional<ConfigurationStatus> status_;
};

}  // namespace headrace
