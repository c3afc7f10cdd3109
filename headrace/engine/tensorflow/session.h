#pragma once

/// \file A TensorFlow session and its graph, shared by a model and the calls made from it.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/api.h"
#include "headrace/engine/tensorflow/meta_graph.h"
#include "headrace/engine/tensorflow/watchdog.h"

namespace headrace::tensorflow {

/// A session with a loaded SavedModel. Thread-safe, as TensorFlow's sessions are.
class Session {
 public:
  /// Loads the SavedModel in `folder`. `api` must outlive the session.
  /// \error kNotFound  the folder has no SavedModel
  /// \error *          TensorFlow's own errors
  static Result<std::shared_ptr<Session>> load(const Api& api, const std::string& folder,
                                               const ModelOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Api& api() const { return api_; }
  const std::string& folder() const { return folder_; }
  /// The model's name in messages.
  const std::string& name() const { return name_; }
  const MetaGraph& meta() const { return meta_; }

  /// Finds the tensor "operation:index" in the graph; the index is 0 if it is left out.
  /// \error kDataLoss  the graph has no such operation or output
  Result<TF_Output> find(std::string_view tensor) const;
  /// Runs the graph once. The results are new tensors that the caller owns. `doing` names the run in
  /// messages. Blocks for at most the call deadline.
  /// \error kDeadlineExceeded  a session with one inter-op thread is then closed for good
  /// \error *                  TensorFlow's own errors
  Status run(std::string_view doing, std::span<const TF_Output> inputs, std::span<TF_Tensor* const> values,
             std::span<const TF_Output> outputs, std::span<TF_Tensor*> results,
             std::span<const TF_Operation* const> targets) const;

 private:
  Session(const Api& api, std::string folder, std::string name);

  const Api& api_;
  std::string folder_;
  std::string name_;
  MetaGraph meta_;
  GraphHandle graph_;
  TF_Session* session_ = nullptr;
  Bytes run_options_;                   // a serialized RunOptions
  std::unique_ptr<Watchdog> watchdog_;  // null unless calls run in their callers' threads
};

/// A tensor of strings for an input, in memory that TensorFlow allocates. This object frees the strings and
/// the tensor; a run makes its own copy.
class StringTensor {
 public:
  StringTensor(const Api& api, std::span<const std::string_view> strings, const Shape& shape);
  ~StringTensor();
  StringTensor(StringTensor&& other) noexcept = default;
  StringTensor& operator=(StringTensor&&) = delete;
  TF_Tensor* get() const { return tensor_.get(); }

 private:
  const Api& api_;
  std::size_t count_;
  TensorHandle tensor_;
};

}  // namespace headrace::tensorflow
