#pragma once

/// \file The part of TensorFlow's C API that Headrace uses, as a table of functions found at run time. The
/// prototypes are those of tensorflow/c/c_api.h, tf_tensor.h and, for strings, tf_tstring.h; they have not
/// changed since 2.4.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "headrace/base/result.h"

extern "C" {
struct TF_Status;
struct TF_Tensor;
struct TF_Graph;
struct TF_Session;
struct TF_SessionOptions;
struct TF_Operation;
struct TF_TString;
struct TF_Buffer {
  const void* data;
  std::size_t length;
  void (*data_deallocator)(void* data, std::size_t length);
};
struct TF_Output {
  TF_Operation* operation;
  int index;
};
using TensorDeallocator = void (*)(void* data, std::size_t length, void* argument);
}

// clang-format off
#define HEADRACE_TENSORFLOW_API(X)                                                                       \
  X(const char*, TF_Version, ())                                                                         \
  X(TF_Status*, TF_NewStatus, ())                                                                        \
  X(void, TF_DeleteStatus, (TF_Status*))                                                                 \
  X(int, TF_GetCode, (const TF_Status*))                                                                 \
  X(const char*, TF_Message, (const TF_Status*))                                                         \
  X(TF_Buffer*, TF_NewBuffer, ())                                                                        \
  X(void, TF_DeleteBuffer, (TF_Buffer*))                                                                 \
  X(TF_Graph*, TF_NewGraph, ())                                                                          \
  X(void, TF_DeleteGraph, (TF_Graph*))                                                                   \
  X(TF_SessionOptions*, TF_NewSessionOptions, ())                                                        \
  X(void, TF_DeleteSessionOptions, (TF_SessionOptions*))                                                 \
  X(void, TF_SetConfig, (TF_SessionOptions*, const void*, std::size_t, TF_Status*))                      \
  X(TF_Session*, TF_LoadSessionFromSavedModel, (const TF_SessionOptions*, const TF_Buffer*, const char*, \
      const char* const*, int, TF_Graph*, TF_Buffer*, TF_Status*))                                       \
  X(void, TF_CloseSession, (TF_Session*, TF_Status*))                                                    \
  X(void, TF_DeleteSession, (TF_Session*, TF_Status*))                                                   \
  X(TF_Operation*, TF_GraphOperationByName, (TF_Graph*, const char*))                                    \
  X(int, TF_OperationNumOutputs, (TF_Operation*))                                                        \
  X(void, TF_SessionRun, (TF_Session*, const TF_Buffer*, const TF_Output*, TF_Tensor* const*, int,       \
      const TF_Output*, TF_Tensor**, int, const TF_Operation* const*, int, TF_Buffer*, TF_Status*))      \
  X(TF_Tensor*, TF_NewTensor, (int, const std::int64_t*, int, void*, std::size_t, TensorDeallocator, void*)) \
  X(TF_Tensor*, TF_AllocateTensor, (int, const std::int64_t*, int, std::size_t))                         \
  X(void, TF_DeleteTensor, (TF_Tensor*))                                                                 \
  X(void*, TF_TensorData, (const TF_Tensor*))                                                            \
  X(std::size_t, TF_TensorByteSize, (const TF_Tensor*))                                                  \
  X(int, TF_TensorType, (const TF_Tensor*))                                                              \
  X(int, TF_NumDims, (const TF_Tensor*))                                                                 \
  X(std::int64_t, TF_Dim, (const TF_Tensor*, int))                                                       \
  X(void, TF_StringInit, (TF_TString*))                                                                  \
  X(void, TF_StringCopy, (TF_TString*, const char*, std::size_t))                                        \
  X(const char*, TF_StringGetDataPointer, (const TF_TString*))                                           \
  X(std::size_t, TF_StringGetSize, (const TF_TString*))                                                  \
  X(void, TF_StringDealloc, (TF_TString*))
// clang-format on

namespace headrace::tensorflow {

/// sizeof(TF_TString): part of the ABI (tensorflow/tsl/platform/ctstring_internal.h).
inline constexpr std::size_t kStringSizeBytes = 24;

struct Api {
#define HEADRACE_DECLARE(result, name, arguments) result(*name) arguments = nullptr;
  HEADRACE_TENSORFLOW_API(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE
};

/// Loads the library, once for the life of the process. Returns the same table afterwards. Thread-safe.
/// \error kFailedPrecondition  `set_tensorflow_environment` was not called, another library is already
///                             loaded, or this library cannot be loaded, lacks a function or is too old
Result<const Api*> load_api(const std::string& library);

/// Allows `load_api`. Called by `set_tensorflow_environment`.
void allow_loading();

/// Deletes an object of the C API.
template <auto Delete>
struct Deleter {
  const Api* api = nullptr;
  template <typename T>
  void operator()(T* object) const {
    (api->*Delete)(object);
  }
};
using StatusHandle = std::unique_ptr<TF_Status, Deleter<&Api::TF_DeleteStatus>>;
using TensorHandle = std::unique_ptr<TF_Tensor, Deleter<&Api::TF_DeleteTensor>>;
using BufferHandle = std::unique_ptr<TF_Buffer, Deleter<&Api::TF_DeleteBuffer>>;
using GraphHandle = std::unique_ptr<TF_Graph, Deleter<&Api::TF_DeleteGraph>>;
using OptionsHandle = std::unique_ptr<TF_SessionOptions, Deleter<&Api::TF_DeleteSessionOptions>>;

/// A status object and its conversion to a Status. TF_Code has gRPC's numbers.
class ApiStatus {
 public:
  explicit ApiStatus(const Api& api) : api_(api), status_(api.TF_NewStatus(), {&api}) {}
  TF_Status* get() const { return status_.get(); }
  /// Success, or the error with the message "`doing`: " and TensorFlow's message, cut to a readable length.
  Status check(std::string_view doing) const;

 private:
  const Api& api_;
  StatusHandle status_;
};

}  // namespace headrace::tensorflow
