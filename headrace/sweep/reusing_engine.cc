#include "headrace/sweep/reusing_engine.h"

#include <filesystem>
#include <list>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/sweep/file_digest.h"

namespace headrace {
namespace {

// Models that are not in use, the most recently used one first. Thread-safe.
class IdleModels {
 public:
  void keep(std::size_t most) {
    const std::scoped_lock lock(mutex_);
    most_ = most;
    while (models_.size() > most_) models_.pop_back();
  }
  void put(const std::string& graph, std::unique_ptr<Model> model) {
    const std::scoped_lock lock(mutex_);
    models_.emplace_front(graph, std::move(model));
    if (models_.size() > most_) models_.pop_back();
  }
  // Null if there is none.
  std::unique_ptr<Model> take(const std::string& graph) {
    const std::scoped_lock lock(mutex_);
    for (auto i = models_.begin(); i != models_.end(); ++i) {
      if (i->first != graph) continue;
      std::unique_ptr<Model> model = std::move(i->second);
      models_.erase(i);
      return model;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::size_t most_ = 0;
  std::list<std::pair<std::string, std::unique_ptr<Model>>> models_;
};

class ReusedModel final : public Model {
 public:
  ReusedModel(std::string folder, std::string graph, std::unique_ptr<Model> model,
              std::shared_ptr<IdleModels> idle)
      : folder_(std::move(folder)),
        graph_(std::move(graph)),
        model_(std::move(model)),
        idle_(std::move(idle)) {}
  ~ReusedModel() override { idle_->put(graph_, std::move(model_)); }
  ReusedModel(const ReusedModel&) = delete;
  ReusedModel& operator=(const ReusedModel&) = delete;

  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override {
    return model_->signatures();
  }
  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                        std::vector<std::string> outputs) override {
    return model_->prepare(signature, std::move(inputs), std::move(outputs));
  }
  Status save_state(const std::string& prefix) override { return model_->save_state(prefix); }
  Status restore_state(const std::string& prefix) override { return model_->restore_state(prefix); }

 private:
  const std::string folder_;
  const std::string graph_;
  std::unique_ptr<Model> model_;
  const std::shared_ptr<IdleModels> idle_;
};

class ViewOfEngine final : public ReusingEngine {
 public:
  explicit ViewOfEngine(Engine& engine) : engine_(engine), idle_(std::make_shared<IdleModels>()) {}

  void keep_idle(std::size_t most) override { idle_->keep(most); }
  std::string version() const override { return engine_.version(); }

  Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions& options) override {
    const auto digest = file_digest(folder + "/saved_model.pb");
    if (!digest) return engine_.load(folder, options);  // reports the error
    const std::string graph = concat(*digest, " ", options.intra_op_threads, " ", options.inter_op_threads);
    HEADRACE_TRY(std::unique_ptr<Model> model, take(graph, folder));
    if (!model) {
      HEADRACE_TRY(model, engine_.load(folder, options));
    }
    return std::unique_ptr<Model>(std::make_unique<ReusedModel>(folder, graph, std::move(model), idle_));
  }

 private:
  // Takes an idle model and restores its variables; null if there is none. A model without variables in its
  // folder has them in its graph, so it is always loaded.
  Result<std::unique_ptr<Model>> take(const std::string& graph, const std::string& folder) {
    const std::string variables = folder + "/variables/variables";
    std::unique_ptr<Model> model;
    if (std::filesystem::exists(variables + ".index")) model = idle_->take(graph);
    if (model) HEADRACE_CHECK(model->restore_state(variables));
    return model;
  }

  Engine& engine_;
  const std::shared_ptr<IdleModels> idle_;
};

}  // namespace

std::unique_ptr<ReusingEngine> make_reusing(Engine& engine) { return std::make_unique<ViewOfEngine>(engine); }

}  // namespace headrace
