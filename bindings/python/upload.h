#pragma once

/// \file An object that Python writes in pieces.

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <stop_token>

#include "bindings/python/object_info.h"
#include "bindings/python/process.h"
#include "headrace/store/store.h"

namespace headrace::python {

/// Belongs to the process that began it. Threads may share it: they take turns. Ctrl-C in one of its calls is
/// the end of it. REQUIRES: the GIL, for all of it
class PythonUpload {
 public:
  /// \error as Store::start_upload, raised; and so on
  PythonUpload(const Location& object, std::size_t root_bytes, WriteOptions options);

  /// Appends an object with a buffer; its size in bytes.
  std::size_t write(const nanobind::object& data);
  InfoTuple commit();
  void discard();  // nothing in a fork's child: the parent's goes on

 private:
  struct Open {
    ~Open() { stop.request_stop(); }

    const Location object;    // keeps the store, which the upload refers to
    std::stop_source stop{};  // of all that the upload does
    std::mutex mutex{};
    std::unique_ptr<Upload> upload{};  // none once it is over; guarded by `mutex`
  };

  template <typename Work>
  auto run(Work work);
  Error is_over() const;

  const std::size_t root_bytes_;
  const OfProcess<Open> open_;
};

void bind_upload(nanobind::module_& module);

}  // namespace headrace::python
