#include "headrace/cli/servers/serve/engine_loader.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/cli/engine_process.h"
#include "headrace/engine/encoders.h"
#include "headrace/model/contract.h"
#include "headrace/serve/version/encoder_files.h"

namespace headrace {
namespace {

// Other variables may hold secrets, and a model can read all variables of its process.
constexpr std::string_view kPassedVariables[] = {"PATH",
                                                 "HOME",
                                                 "LD_LIBRARY_PATH",
                                                 "TMPDIR",
                                                 "XDG_CACHE_HOME",
                                                 "VIRTUAL_ENV",
                                                 "PYTHONPATH",
                                                 "PYTHONHOME",
                                                 "TZ",
                                                 "LANG",
                                                 "LC_ALL",
                                                 "LC_CTYPE",
                                                 "HEADRACE_PYTHON",
                                                 "HEADRACE_ENCODERS",
                                                 "CUDA_VISIBLE_DEVICES",
                                                 "NVIDIA_VISIBLE_DEVICES",
                                                 "TF_CPP_MIN_LOG_LEVEL",
                                                 "TF_ENABLE_ONEDNN_OPTS",
                                                 "TF_XLA_FLAGS",
                                                 "XLA_FLAGS",
                                                 "TF_FORCE_GPU_ALLOW_GROWTH",
                                                 "OMP_NUM_THREADS",
                                                 "KMP_AFFINITY",
                                                 "KMP_BLOCKTIME"};

std::map<std::string, std::string, std::less<>> passed_variables(const Environment& environment) {
  std::map<std::string, std::string, std::less<>> out;
  for (const auto& [name, value] : environment.variables) {
    const bool is_passed = std::ranges::find(kPassedVariables, name) != std::end(kPassedVariables);
    if (is_passed) out.emplace(name, value);
  }
  return out;
}

// TensorFlow Serving looks for this file, too.
constexpr std::string_view kWarmUpFile = "/assets.extra/tf_serving_warmup_requests";

// The files of a version, and of those of its encoders that are SavedModels, by their names.
struct FetchedVersion {
  CachedExport model;
  std::map<std::string, CachedExport, std::less<>> encoders{};
};

// The process that loads the model cannot reach their stores: it is confined, and has no credentials.
Status fetch_encoders(const ModelContract& contract, StoreRegistry& stores, ExportCache& cache,
                      const CallOptions& call, FetchedVersion& fetched) {
  for (const auto& [feature, encoder] : contract.encoders) {
    const bool is_saved_model = encoder.name.starts_with(kSavedModelEncoderPrefix);
    if (!is_saved_model || fetched.encoders.contains(encoder.name)) continue;
    const std::string url = encoder.name.substr(kSavedModelEncoderPrefix.size());
    HEADRACE_TRY(const Location folder, stores.open(url));
    HEADRACE_TRY(const auto files, find_encoder_files(folder, call));
    HEADRACE_TRY(CachedExport cached, cache.fetch(*files, call));
    fetched.encoders.emplace(encoder.name, std::move(cached));
  }
  return {};
}

Result<FetchedVersion> fetch_version(const WantedVersion& version, StoreRegistry& stores, ExportCache& cache,
                                     const CallOptions& call) {
  HEADRACE_TRY(CachedExport model, cache.fetch(version, call));
  FetchedVersion fetched{std::move(model)};
  if (!version.attributes_json) return fetched;
  HEADRACE_TRY(const ModelContract contract, parse_contract(*version.attributes_json));
  const Status encoders = fetch_encoders(contract, stores, cache, call, fetched);
  if (!encoders) return encoders.error().in("fetching the encoder of the model");
  return fetched;
}

// The files live as long as the process.
class LoadedProcess final : public LoadedModel {
 public:
  LoadedProcess(std::string name, FetchedVersion files, std::unique_ptr<RemoteEngine> engine,
                std::optional<Location> warm_up)
      : name_(std::move(name)),
        files_(std::move(files)),
        engine_(std::move(engine)),
        warm_up_(std::move(warm_up)) {}
  const ServedModel& model() const override { return engine_->about().model; }
  BatchRunner& runner(std::size_t signature) override { return engine_->runner(signature); }
  void end() override { engine_->end(); }
  std::optional<Error> ended() const override { return engine_->ended(); }
  Result<LoggedRecords> warm_up_records(const CallOptions& call) override {
    auto own = read_record_file(concat(files_.model.path(), kWarmUpFile));
    const bool is_absent = !own && own.error().code == Code::kNotFound;
    if (!is_absent) return own;
    return warm_up_ ? read_newest_records(*warm_up_, name_, call) : LoggedRecords{};
  }

 private:
  const std::string name_;
  const FetchedVersion files_;
  const std::unique_ptr<RemoteEngine> engine_;
  const std::optional<Location> warm_up_;
};

}  // namespace

LoadVersion make_engine_loader(const std::string& model, ExportCache& cache, const Environment& environment,
                               const EngineLoaderOptions& options,
                               std::function<void(const std::string&)> remark) {
  EngineCommand command{{options.program, std::string(kEngineProcessWord)}, passed_variables(environment)};
  return
      [model, &cache, command = std::move(command), options, remark = std::move(remark)](
          const WantedVersion& version, const std::function<void(VersionState)>& on_state,
          std::function<void()> on_end, const std::stop_token& stop) -> Result<std::unique_ptr<LoadedModel>> {
        HEADRACE_TRY(FetchedVersion files, fetch_version(version, *options.stores, cache, {.stop = stop}));
        if (!files.model.remark().empty()) remark(files.model.remark());
        for (const auto& [name, encoder] : files.encoders) {
          if (!encoder.remark().empty()) remark(encoder.remark());
        }
        on_state(VersionState::kLoading);
        EngineLoad load{.build = HEADRACE_VERSION,
                        .name = concat(model, " version ", version.number),
                        .folder = files.model.path(),
                        .digest = version.digest,
                        .attributes = version.attributes_json.value_or(""),
                        .encoder_weights = options.encoder_weights,
                        .intra_op_threads = options.intra_op_threads,
                        .lanes = options.lanes,
                        .rows_max = options.rows_max};
        for (const auto& [name, encoder] : files.encoders) load.encoder_folders.emplace(name, encoder.path());
        HEADRACE_TRY(std::unique_ptr<RemoteEngine> engine,
                     RemoteEngine::start(command, load, options.engine, std::move(on_end), stop));
        remark(concat(load.name, ": ", engine->about().engine, ", ",
                      engine->about().confinement.empty() ? "not confined" : engine->about().confinement,
                      ", ", format_size(engine->about().memory_bytes)));
        return std::unique_ptr<LoadedModel>(
            std::make_unique<LoadedProcess>(model, std::move(files), std::move(engine), options.warm_up));
      };
}

}  // namespace headrace
