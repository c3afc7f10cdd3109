#pragma once

/// \file Keeps the models of a server in line with its configuration file, while the file changes.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "headrace/cli/servers/serve/configured_models.h"
#include "headrace/serve/configuration/followed_configuration.h"

namespace headrace {

/// Polls the configuration file in a thread of its own. Destruction stops the thread and waits for it.
class ConfigurationThread {
 public:
  /// Records a change in the tracking root `record`. `facts`: the changes, by name.
  using RecordChange = std::function<Status(
      const std::string& record, const std::map<std::string, std::string>& facts, const CallOptions& call)>;

  /// `models` must outlive this, and nobody else may use them meanwhile. `poll_each`: time between two looks
  /// at the file. Each look is up to a quarter of it later, so that servers do not ask together.
  ConfigurationThread(ConfiguredModels& models, FollowedConfiguration followed,
                      std::chrono::milliseconds poll_each, RecordChange record_change,
                      std::function<void(const std::string&)> remark);

 private:
  void work(const std::stop_token& stop);
  void poll(const std::stop_token& stop);
  void record(const std::map<std::string, std::string>& facts, const std::stop_token& stop) const;
  void tell(const std::optional<Error>& problem);

  ConfiguredModels& models_;
  FollowedConfiguration followed_;
  const std::chrono::milliseconds poll_each_;
  const RecordChange record_change_;
  const std::function<void(const std::string&)> remark_;
  ConfigurationStatus status_;
  std::jthread thread_;
};

}  // namespace headrace
