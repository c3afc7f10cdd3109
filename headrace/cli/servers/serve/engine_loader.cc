#include "headrace/cli/servers/serve/engine_loader.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/cli/engine_process.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 8> kPassedVariables = {
    "PATH",           "HOME",        "LD_LIBRARY_PATH",      "TMPDIR",
    "XDG_CACHE_HOME", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "TZ"};
constexpr std::array<std::string_view, 6> kPassedBeginnings = {"HEADRACE_", "TF_",     "LC_",
                                                               "LANG",      "NVIDIA_", "PYTHON"};

std::map<std::string, std::string, std::less<>> passed_variables(const Environment& environment) {
  std::map<std::string, std::string, std::less<>> out;
  for (const auto& [name, value] : environment.variables) {
    const bool is_passed = std::ranges::find(kPassedVariables, name) != kPassedVariables.end() ||
                           std::ranges::any_of(kPassedBeginnings, [&](std::string_view begin) {
                             return name.starts_with(begin);
                           });
    if (is_passed) out.emplace(name, value);
  }
  return out;
}

// The files stay as long as the process.
class LoadedProcess final : public LoadedModel {
 public:
  LoadedProcess(CachedExport files, std::unique_ptr<RemoteEngine> engine)
      : files_(std::move(files)), engine_(std::move(engine)) {}
  const ServedModel& model() const override { return engine_->about().model; }
  BatchRunner& runner(std::size_t signature) override { return engine_->runner(signature); }
  void end() override { engine_->end(); }
  bool has_ended() const override { return engine_->has_ended(); }

 private:
  const CachedExport files_;
  const std::unique_ptr<RemoteEngine> engine_;
};

}  // namespace

LoadVersion make_engine_loader(ExportCache& cache, const Environment& environment,
                               const EngineLoaderOptions& options,
                               std::function<void(const std::string&)> remark) {
  EngineCommand command{{options.program, std::string(kEngineProcessWord)}, passed_variables(environment)};
  return [&cache, command = std::move(command), options, remark = std::move(remark)](
             const WantedVersion& version, const std::function<void(VersionState)>& on_state,
             std::function<void(const Error&)> on_end,
             const std::stop_token& stop) -> Result<std::unique_ptr<LoadedModel>> {
    HEADRACE_TRY(CachedExport files, cache.fetch(version, {.stop = stop}));
    if (!files.remark().empty()) remark(files.remark());
    on_state(VersionState::kLoading);
    const EngineLoad load{.build = HEADRACE_VERSION,
                          .name = version.folder.url.text(),
                          .folder = files.path(),
                          .digest = version.digest,
                          .attributes = version.attributes_json.value_or(""),
                          .encoder_weights = options.encoder_weights,
                          .intra_op_threads = options.intra_op_threads,
                          .lanes = options.lanes,
                          .rows_max = options.rows_max};
    HEADRACE_TRY(std::unique_ptr<RemoteEngine> engine,
                 RemoteEngine::start(command, load, options.engine, std::move(on_end), stop));
    remark(concat(load.name, ": ", engine->about().engine, ", ",
                  engine->about().confinement.empty() ? "not confined" : engine->about().confinement, ", ",
                  format_size(engine->about().memory_bytes)));
    return std::unique_ptr<LoadedModel>(std::make_unique<LoadedProcess>(std::move(files), std::move(engine)));
  };
}

}  // namespace headrace
