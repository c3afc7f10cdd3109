#include "headrace/engine/tensorflow/model.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>

#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/session.h"
#include "headrace/engine/tensorflow/tensorflow.h"

namespace headrace::tensorflow {

namespace {

/// Inputs up to this size are copied. So a signature that assigns its input to a variable, such as
/// set_learning_rate, does not keep the caller's memory.
constexpr std::size_t kCopiedBytesMax = 64;

void count_release(void*, std::size_t, void* unreleased) {
  static_cast<std::atomic<int>*>(unreleased)->fetch_sub(1, std::memory_order_release);
}

class SessionCall final : public Call {
 public:
  struct Slot {
    std::string name;
    TensorInfo info;
  };

  SessionCall(std::shared_ptr<Session> session, std::string signature)
      : session_(std::move(session)), signature_(std::move(signature)) {}
  ~SessionCall() override {
    if (unreleased_->load() != 0) static_cast<void>(unreleased_.release());  // TensorFlow still points at it
  }

  Status resolve(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);
  Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override;

 private:
  Status check(std::span<const TensorView> inputs, std::size_t outputs) const;
  TF_Tensor* wrap(const TensorView& input);
  Result<Tensor> take(TensorHandle result, const Slot& slot, std::span<const TensorView> inputs) const;

  std::shared_ptr<Session> session_;
  std::string signature_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<TF_Output> input_places_;
  std::vector<TF_Output> output_places_;
  // The state of one run. It is kept between runs to reuse its memory.
  std::vector<TF_Tensor*> values_;
  std::vector<TensorHandle> owned_;
  std::vector<StringTensor> owned_strings_;
  std::vector<TF_Tensor*> results_;
  std::unique_ptr<std::atomic<int>> unreleased_ = std::make_unique<std::atomic<int>>(0);
};

Error no_such(std::string_view what, std::string_view name, const std::vector<std::string>& existing,
              const std::string& where) {
  return Error{Code::kNotFound,
               concat(where, " has no ", what, " '", name, "'; it has: ", join(existing, ", "))};
}

template <typename Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

Status SessionCall::resolve(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  const Signature& signature = session_->meta().signatures.find(signature_)->second;
  const SignatureTensors& tensors = session_->meta().tensors.find(signature_)->second;
  const std::string where = concat("signature ", signature_, " of ", session_->name());
  for (const std::string& name : inputs) {
    const auto found = signature.inputs.find(name);
    if (found == signature.inputs.end()) return no_such("input", name, names_of(signature.inputs), where);
    inputs_.push_back({name, found->second});
    HEADRACE_TRY(input_places_.emplace_back(), session_->find(tensors.inputs.find(name)->second));
  }
  for (const auto& [name, info] : signature.inputs) {
    if (std::ranges::find(inputs, name) == inputs.end()) {
      return Error{Code::kNotFound, concat(where, " needs the input '", name, "', which is not given")};
    }
  }
  for (const std::string& name : outputs) {
    const auto found = signature.outputs.find(name);
    if (found == signature.outputs.end()) return no_such("output", name, names_of(signature.outputs), where);
    outputs_.push_back({name, found->second});
    HEADRACE_TRY(output_places_.emplace_back(), session_->find(tensors.outputs.find(name)->second));
  }
  values_.resize(inputs_.size());
  results_.resize(outputs_.size());
  return {};
}

Status SessionCall::check(std::span<const TensorView> inputs, std::size_t outputs) const {
  if (inputs.size() != inputs_.size() || outputs != outputs_.size()) {
    return Error{Code::kInvalidArgument,
                 concat("signature ", signature_, " is called with ", inputs.size(), " inputs and ", outputs,
                        " outputs; it was prepared for ", inputs_.size(), " and ", outputs_.size())};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Slot& slot = inputs_[i];
    const bool counted =
        inputs[i].type != DataType::kBytes || inputs[i].strings.size() == inputs[i].shape.elements();
    if (inputs[i].type == slot.info.type && counted &&
        (!slot.info.shape || slot.info.shape->accepts(inputs[i].shape))) {
      continue;
    }
    return Error{Code::kInvalidArgument,
                 concat("input '", slot.name, "' of signature ", signature_, " of ", session_->name(), " is ",
                        data_type_name(inputs[i].type), inputs[i].shape.text(), "; it must be ",
                        data_type_name(slot.info.type), slot.info.shape ? slot.info.shape->text() : "")};
  }
  return {};
}

TF_Tensor* SessionCall::wrap(const TensorView& input) {
  const Api& api = session_->api();
  if (input.type == DataType::kBytes) {
    return owned_strings_.emplace_back(api, input.strings, input.shape).get();
  }
  const std::size_t size_bytes = input.shape.elements() * data_type_size_bytes(input.type);
  const std::int64_t* const sizes = input.shape.sizes().data();
  const int rank = static_cast<int>(input.shape.rank());
  TF_Tensor* tensor = nullptr;
  if (size_bytes <= kCopiedBytesMax) {
    tensor = api.TF_AllocateTensor(tensorflow_type(input.type), sizes, rank, size_bytes);
    if (size_bytes > 0) std::memcpy(api.TF_TensorData(tensor), input.data, size_bytes);
  } else {
    unreleased_->fetch_add(1, std::memory_order_relaxed);
    tensor = api.TF_NewTensor(tensorflow_type(input.type), sizes, rank, const_cast<void*>(input.data),
                              size_bytes, count_release, unreleased_.get());
  }
  return owned_.emplace_back(tensor, Deleter<&Api::TF_DeleteTensor>{&api}).get();
}

/// Whether a result lies in an input's memory, as that of an identity does.
bool lies_in(const void* data, std::span<const TensorView> inputs) {
  const auto* const place = static_cast<const std::byte*>(data);
  return std::ranges::any_of(inputs, [&](const TensorView& input) {
    const auto* const begin = static_cast<const std::byte*>(input.data);
    return begin != nullptr && place >= begin &&
           place < begin + input.shape.elements() * data_type_size_bytes(input.type);
  });
}

Result<Tensor> SessionCall::take(TensorHandle result, const Slot& slot,
                                 std::span<const TensorView> inputs) const {
  const Api& api = session_->api();
  TF_Tensor* const tensor = result.get();
  const auto type = data_type_of(api.TF_TensorType(tensor));
  const auto rank = static_cast<std::size_t>(std::max(api.TF_NumDims(tensor), 0));
  if (!type || rank > Shape::kRankMax) {
    return Error{Code::kUnimplemented, concat("output '", slot.name, "' of signature ", signature_, " of ",
                                              session_->name(), " has a type or rank that is not supported")};
  }
  std::array<std::int64_t, Shape::kRankMax> sizes{};
  for (std::size_t i = 0; i < rank; ++i) sizes[i] = api.TF_Dim(tensor, static_cast<int>(i));
  const Shape shape(std::span<const std::int64_t>(sizes.data(), rank));
  const void* const data = api.TF_TensorData(tensor);
  if (*type != DataType::kBytes) {
    if (lies_in(data, inputs)) {
      TF_Tensor* const copy = api.TF_AllocateTensor(tensorflow_type(*type), sizes.data(),
                                                    static_cast<int>(rank), api.TF_TensorByteSize(tensor));
      std::memcpy(api.TF_TensorData(copy), data, api.TF_TensorByteSize(tensor));
      result.reset(copy);
    }
    const void* const owned = api.TF_TensorData(result.get());
    return Tensor(*type, shape, owned, std::shared_ptr<TF_Tensor>(std::move(result)));
  }
  std::vector<std::string> strings(shape.elements());
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const auto* const element =
        reinterpret_cast<const TF_TString*>(static_cast<const std::byte*>(data) + i * kStringSizeBytes);
    strings[i].assign(api.TF_StringGetDataPointer(element), api.TF_StringGetSize(element));
  }
  return Tensor(shape, std::move(strings));
}

Status SessionCall::run(std::span<const TensorView> inputs, std::span<Tensor> outputs) {
  HEADRACE_CHECK(check(inputs, outputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) values_[i] = wrap(inputs[i]);
  std::ranges::fill(results_, nullptr);
  Status status = session_->run(signature_, input_places_, values_, output_places_, results_, {});
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i] == nullptr) continue;
    auto taken = take(TensorHandle(results_[i], {&session_->api()}), outputs_[i], inputs);
    if (taken) {
      outputs[i] = std::move(*taken);
    } else if (status) {
      status = std::move(taken).error();
    }
  }
  // Only now, because a result may share an input's memory.
  owned_strings_.clear();
  owned_.clear();
  HEADRACE_CHECK(std::move(status));
  if (unreleased_->load(std::memory_order_acquire) != 0) {
    return Error{Code::kInternal,
                 concat("signature ", signature_, " of ", session_->name(),
                        " keeps an input instead of copying it: it would read memory that is "
                        "not its own")};
  }
  return {};
}

class SessionModel final : public Model {
 public:
  explicit SessionModel(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  const std::string& folder() const override { return session_->folder(); }
  const std::map<std::string, Signature, std::less<>>& signatures() const override {
    return session_->meta().signatures;
  }
  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                        std::vector<std::string> outputs) override {
    if (!signatures().contains(signature)) {
      return no_such("signature", signature, names_of(signatures()), session_->name());
    }
    auto call = std::make_unique<SessionCall>(session_, std::string(signature));
    HEADRACE_CHECK(call->resolve(inputs, outputs));
    return std::unique_ptr<Call>(std::move(call));
  }
  Status save_state(const std::string& prefix) override;
  Status restore_state(const std::string& prefix) override;

 private:
  Status check_has_state() const {
    const MetaGraph& meta = session_->meta();
    if (!meta.save_filename.empty() && !meta.save_result.empty() && !meta.restore_operation.empty())
      return {};
    return Error{Code::kFailedPrecondition, concat(session_->name(), " has no variables to save or restore")};
  }

  std::shared_ptr<Session> session_;
};

Status SessionModel::save_state(const std::string& prefix) {
  HEADRACE_CHECK(check_has_state());
  const std::filesystem::path parent = std::filesystem::path(prefix).parent_path();
  std::error_code failure;
  if (!parent.empty()) std::filesystem::create_directories(parent, failure);
  if (failure) {
    return Error{Code::kPermissionDenied,
                 concat("creating the folder ", parent.string(), ": ", failure.message())};
  }
  const std::string_view text = prefix;
  const StringTensor filename(session_->api(), {&text, 1}, Shape());
  HEADRACE_TRY(const TF_Output input, session_->find(session_->meta().save_filename));
  HEADRACE_TRY(const TF_Output output, session_->find(session_->meta().save_result));
  TF_Tensor* const value = filename.get();
  TF_Tensor* result = nullptr;
  HEADRACE_CHECK(session_->run(concat("the save to the checkpoint ", prefix), {&input, 1}, {&value, 1},
                               {&output, 1}, {&result, 1}, {}));
  const TensorHandle discarded(result, {&session_->api()});
  return {};
}

Status SessionModel::restore_state(const std::string& prefix) {
  HEADRACE_CHECK(check_has_state());
  std::error_code ignored;
  if (!std::filesystem::exists(prefix + ".index", ignored)) {
    return Error{Code::kNotFound,
                 concat("restoring ", session_->name(), ": there is no checkpoint ", prefix, ".index")};
  }
  const std::string_view text = prefix;
  const StringTensor filename(session_->api(), {&text, 1}, Shape());
  HEADRACE_TRY(const TF_Output input, session_->find(session_->meta().save_filename));
  HEADRACE_TRY(const TF_Output target, session_->find(session_->meta().restore_operation));
  TF_Tensor* const value = filename.get();
  const TF_Operation* const operation = target.operation;
  return session_->run(concat("the restore from the checkpoint ", prefix), {&input, 1}, {&value, 1}, {}, {},
                       {&operation, 1});
}

}  // namespace

Result<std::unique_ptr<Model>> load_model(const Api& api, const std::string& folder,
                                          const ModelOptions& options) {
  HEADRACE_TRY(auto session, Session::load(api, folder, options));
  return std::unique_ptr<Model>(std::make_unique<SessionModel>(std::move(session)));
}

}  // namespace headrace::tensorflow
