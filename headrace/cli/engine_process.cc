#include "headrace/cli/engine_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "headrace/base/text.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/engine_process/confinement.h"
#include "headrace/engine_process/hosted_export.h"
#include "headrace/os/low_priority.h"

namespace headrace {
namespace {

constexpr std::chrono::seconds kLowPriorityMax{60};

// A model that reports how this process is confined.
class ConfinedModel final : public HostedModel {
 public:
  ConfinedModel(std::unique_ptr<HostedModel> model, std::shared_ptr<Engine> engine, std::string confinement)
      : engine_(std::move(engine)), model_(std::move(model)), about_(model_->about()) {
    about_.confinement = std::move(confinement);
  }
  const EngineLoaded& about() const override { return about_; }
  Result<std::unique_ptr<HostedLane>> open_lane() override { return model_->open_lane(); }

 private:
  const std::shared_ptr<Engine> engine_;
  const std::unique_ptr<HostedModel> model_;
  EngineLoaded about_;
};

Result<std::unique_ptr<HostedModel>> load_confined(const EngineLoad& load, const Environment& environment,
                                                   StoreRegistry& stores) {
  if (load.build != HEADRACE_VERSION) {
    return Error{Code::kFailedPrecondition,
                 concat("the server has version ", load.build, ", but its engine process has version ",
                        HEADRACE_VERSION, ": install both together, and restart the server")};
  }
  const LowPriorityProcess while_loading(kLowPriorityMax);  // versions that answer requests come first
  HEADRACE_TRY(const TensorFlowLibrary library, find_tensorflow("", environment));
  HEADRACE_TRY(std::shared_ptr<Engine> engine, open_tensorflow(library));
  std::string confinement;
  EncoderSources sources = encoder_sources(environment, stores, load.encoder_weights);
  sources.fetched = load.encoder_folders;
  sources.engine = engine.get();
  std::vector<std::string> readable = {load.folder, library.folder};
  for (const auto& [name, folder] : load.encoder_folders) readable.push_back(folder);
  const auto encoders = [&](const auto& wanted) { return encoders_of(wanted, sources); };
  HEADRACE_TRY(auto model, load_hosted_export(load, *engine, stores, encoders, [&]() -> Status {
                 HEADRACE_TRY(confinement, confine_process(readable));
                 return {};
               }));
  return std::unique_ptr<HostedModel>(
      std::make_unique<ConfinedModel>(std::move(model), std::move(engine), std::move(confinement)));
}

}  // namespace

int run_engine_process(const Environment& environment) {
  // Nothing that reads standard input gets the messages.
  PacketSocket socket{FileDescriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1))};
  const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  dup2(nothing.get(), STDIN_FILENO);
  StoreRegistry stores(environment, {});
  const auto load = [&](const EngineLoad& wanted) { return load_confined(wanted, environment, stores); };
  const Status done = host_engine(std::move(socket), load, [] { std::_Exit(0); });
  return done ? 0 : 1;
}

}  // namespace headrace
