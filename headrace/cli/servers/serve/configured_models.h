#pragma once

/// \file Makes a server's models what a configuration says, and changes them while requests come.
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
  /// Tells an operator what happens, in sentences. Any thread.
  std::function<void(const std::string&)> remark;
  /// How long the requests of a model that is removed or replaced may take.
  std::chrono::milliseconds drain_max{30'000};
};

/// Owns the models that `served` publishes. One thread at a time.
class ConfiguredModels {
 public:
  /// Borrows `served`, which has these models at once, ready or not.
  ConfiguredModels(ServedModels& served, ConfiguredModelsParts parts, const ServingConfiguration& first);
  /// Ends all models, and waits for those that hold them: as `stop`. REQUIRES: no more requests come
  ~ConfiguredModels();
  /// Whether every model of `first` was started: the system may have refused a thread. Before `change_to`.
  bool has_started_all() const { return coming_.empty(); }
  ConfiguredModels(const ConfiguredModels&) = delete;
  ConfiguredModels& operator=(const ConfiguredModels&) = delete;

  /// Models that are added, or have to be loaded anew, take their places once they are ready; those that are
  /// removed have left when this returns; everything else is in force.
  void change_to(const ServingConfiguration& configuration);
  /// Publishes it with the models.
  void set_status(ConfigurationStatus status);
  struct Withdrawal {
    std::string model;
    VersionName version;
    std::string reason;
  };
  /// Canaries that were withdrawn since the last call.
  std::vector<Withdrawal> take_withdrawals();
  /// Tells an operator, once for each, of versions of canaries and shadows that a ready model neither
  /// has nor loads.
  void remark_absent_versions();
  /// Call it again and again: gives models that are ready their places, and ends those that nobody holds.
  void attend();
  /// Ends everything at once, requests in flight, too.
  void stop();

 private:
  struct Served {
    ModelConfiguration configuration;
    std::shared_ptr<const ServedEntry> entry;
    std::shared_ptr<Canary> told{};     // its withdrawal was taken
    std::vector<VersionName> absent{};  // of its releases, as was remarked
  };
  struct Coming {
    ModelConfiguration configuration;
    std::shared_ptr<LiveModel> live;  // null: the system has refused a thread
    std::chrono::steady_clock::time_point start_again_at{};
  };
  // An entry that is not published any more.
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
