#include "headrace/engine/tensorflow/session.h"

#include <filesystem>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace::tensorflow {

namespace {

/// Fields of ConfigProto (tensorflow/core/protobuf/config.proto): intra_op_parallelism_threads = 2,
/// inter_op_parallelism_threads = 5, use_per_session_threads = 9 (without it, all sessions get the first
/// session's numbers of threads), gpu_options = 6 { allow_growth = 4 }.
Bytes serialized_config(const ModelOptions& options) {
  Bytes config;
  WireWriter writer(config);
  writer.varint(2, static_cast<std::uint64_t>(options.intra_op_threads));
  writer.varint(5, static_cast<std::uint64_t>(options.inter_op_threads));
  writer.varint(9, 1);
  writer.message(6, [](WireWriter& gpu) { gpu.varint(4, 1); });
  return config;
}

/// With a single inter-op thread, operations run in the calling thread. That saves 6 % of a small model's
/// step.
bool runs_in_caller(const ModelOptions& options) { return options.inter_op_threads == 1; }

/// Fields of RunOptions: timeout_in_ms = 2, inter_op_thread_pool = 3 (−1: the caller's thread).
Bytes serialized_run_options(const ModelOptions& options) {
  Bytes run_options;
  WireWriter writer(run_options);
  if (runs_in_caller(options)) {
    writer.varint(3, ~std::uint64_t{0});
  } else {
    writer.varint(2, static_cast<std::uint64_t>(options.call_deadline.count()));
  }
  return run_options;
}

}  // namespace

Session::Session(const Api& api, std::string folder, std::string name)
    : api_(api), folder_(std::move(folder)), name_(std::move(name)), graph_(api.TF_NewGraph(), {&api}) {}

Session::~Session() {
  watchdog_.reset();
  if (session_ == nullptr) return;
  const ApiStatus status(api_);  // a failure cannot be reported to anyone
  api_.TF_CloseSession(session_, status.get());
  api_.TF_DeleteSession(session_, status.get());
}

Result<std::shared_ptr<Session>> Session::load(const Api& api, const std::string& folder,
                                               const ModelOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::path(folder) / "saved_model.pb", ignored)) {
    return Error{Code::kNotFound, concat("loading a SavedModel: ", folder, " has no saved_model.pb")};
  }
  const std::shared_ptr<Session> session(
      new Session(api, folder, options.name.empty() ? folder : options.name));
  session->run_options_ = serialized_run_options(options);
  const OptionsHandle session_options(api.TF_NewSessionOptions(), {&api});
  const Bytes config = serialized_config(options);
  const ApiStatus status(api);
  api.TF_SetConfig(session_options.get(), config.data(), config.size(), status.get());
  HEADRACE_CHECK(status.check("configuring a TensorFlow session"));
  const char* const tag = "serve";
  const BufferHandle meta_graph(api.TF_NewBuffer(), {&api});
  session->session_ =
      api.TF_LoadSessionFromSavedModel(session_options.get(), nullptr, folder.c_str(), &tag, 1,
                                       session->graph_.get(), meta_graph.get(), status.get());
  const std::string doing = concat("loading the SavedModel ", folder);
  HEADRACE_CHECK(status.check(doing));
  auto meta = parse_meta_graph({static_cast<const std::byte*>(meta_graph->data), meta_graph->length});
  if (!meta) return std::move(meta).error().in(doing);
  session->meta_ = std::move(*meta);
  if (runs_in_caller(options)) {
    session->watchdog_ = std::make_unique<Watchdog>(options.call_deadline, [raw = session.get()] {
      const ApiStatus closing(raw->api_);
      raw->api_.TF_CloseSession(raw->session_, closing.get());  // cancels the calls that are running
    });
  }
  return session;
}

Result<TF_Output> Session::find(std::string_view tensor) const {
  const std::size_t colon = tensor.find(':');
  const std::string operation(tensor.substr(0, colon));
  const int index =
      colon == std::string_view::npos ? 0 : parse_number<int>(tensor.substr(colon + 1)).value_or(-1);
  TF_Operation* const found = api_.TF_GraphOperationByName(graph_.get(), operation.c_str());
  if (found == nullptr || index < 0 || (index > 0 && index >= api_.TF_OperationNumOutputs(found))) {
    return Error{Code::kDataLoss, concat("the SavedModel ", name_, " names a tensor '", tensor,
                                         "' that its graph does not have")};
  }
  return TF_Output{found, index};
}

Status Session::run(std::string_view doing, std::span<const TF_Output> inputs,
                    std::span<TF_Tensor* const> values, std::span<const TF_Output> outputs,
                    std::span<TF_Tensor*> results, std::span<const TF_Operation* const> targets) const {
  const Watchdog::Watch watch(watchdog_.get());
  const ApiStatus status(api_);
  const TF_Buffer options{run_options_.data(), run_options_.size(), nullptr};
  api_.TF_SessionRun(session_, &options, inputs.data(), values.data(), static_cast<int>(inputs.size()),
                     outputs.data(), results.data(), static_cast<int>(outputs.size()), targets.data(),
                     static_cast<int>(targets.size()), nullptr, status.get());
  if (api_.TF_GetCode(status.get()) == 0) return {};
  const std::string running = concat("running ", doing, " of ", name_);
  if (watchdog_ && watchdog_->has_expired()) {
    return Error{Code::kDeadlineExceeded,
                 concat(running, ": it took longer than its deadline and was stopped")};
  }
  return status.check(running);
}

StringTensor::StringTensor(const Api& api, std::span<const std::string_view> strings, const Shape& shape)
    : api_(api), count_(strings.size()) {
  tensor_ = TensorHandle(api.TF_AllocateTensor(tensorflow_type(DataType::kBytes), shape.sizes().data(),
                                               static_cast<int>(shape.rank()), count_ * kStringSizeBytes),
                         {&api});
  auto* place = static_cast<std::byte*>(api.TF_TensorData(tensor_.get()));
  for (const std::string_view text : strings) {
    auto* const element = reinterpret_cast<TF_TString*>(place);
    api.TF_StringInit(element);
    api.TF_StringCopy(element, text.data(), text.size());
    place += kStringSizeBytes;
  }
}

StringTensor::~StringTensor() {
  if (!tensor_) return;
  auto* place = static_cast<std::byte*>(api_.TF_TensorData(tensor_.get()));
  for (std::size_t i = 0; i < count_; ++i, place += kStringSizeBytes) {
    api_.TF_StringDealloc(reinterpret_cast<TF_TString*>(place));
  }
}

}  // namespace headrace::tensorflow
