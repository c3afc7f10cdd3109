#include "headrace/engine/tensorflow/tensorflow.h"

#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/api.h"
#include "headrace/engine/tensorflow/model.h"

namespace headrace {

namespace {

class TensorFlowEngine final : public Engine {
 public:
  explicit TensorFlowEngine(const tensorflow::Api& api) : api_(api) {}
  std::string version() const override { return concat("tensorflow ", api_.TF_Version()); }
  Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions& options) override {
    return tensorflow::load_model(api_, folder, options);
  }

 private:
  const tensorflow::Api& api_;
};

}  // namespace

Result<std::shared_ptr<Engine>> open_tensorflow(const TensorFlowLibrary& library) {
  HEADRACE_TRY(const tensorflow::Api* api, tensorflow::load_api(library.file));
  return std::shared_ptr<Engine>(std::make_shared<TensorFlowEngine>(*api));
}

}  // namespace headrace
