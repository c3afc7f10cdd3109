#include "bindings/python/upload.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <utility>

#include "bindings/python/buffers.h"
#include "headrace/base/text.h"

namespace headrace::python {

namespace nb = nanobind;

template <typename Work>
auto PythonUpload::run(Work work) {
  Open& open = open_.here();
  return run_interruptibly([&](const std::stop_token& stop) {
    const std::stop_callback forward(stop, [&] { open.stop.request_stop(); });
    const std::lock_guard lock(open.mutex);
    return work(open.upload);
  });
}

PythonUpload::PythonUpload(const Location& object, std::size_t root_bytes, WriteOptions options)
    : root_bytes_(root_bytes), open_("this upload", object) {
  options.call.stop = open_.here().stop.get_token();
  check(run([&](std::unique_ptr<Upload>& upload) -> Status {
    HEADRACE_TRY(upload, object.store->start_upload(object.key, options));
    return {};
  }));
}

std::size_t PythonUpload::write(const nb::object& data) {
  const LentBuffer buffer(data, LentBuffer::Access::kRead);
  check(run([&](std::unique_ptr<Upload>& upload) -> Status {
    return upload == nullptr ? is_over() : upload->append(buffer.view());
  }));
  return buffer.view().size();
}

InfoTuple PythonUpload::commit() {
  const ObjectInfo made = value_of(run([&](std::unique_ptr<Upload>& upload) -> Result<ObjectInfo> {
    if (upload == nullptr) return is_over();
    return std::exchange(upload, nullptr)->commit();
  }));
  return tuple_of(made, root_bytes_);
}

void PythonUpload::discard() {
  if (!open_.is_here()) return;
  Open& open = open_.here();
  const WithoutGil released;
  open.stop.request_stop();
  const std::lock_guard lock(open.mutex);
  open.upload = nullptr;
}

Error PythonUpload::is_over() const {
  return {Code::kFailedPrecondition,
          concat("writing ", open_.anywhere().object.describe(), ": it was already committed or discarded")};
}

void bind_upload(nb::module_& module) {
  nb::class_<PythonUpload>(module, "Upload")
      .def("write", &PythonUpload::write, nb::arg("data"))
      .def("commit", &PythonUpload::commit)
      .def("discard", &PythonUpload::discard);
}

}  // namespace headrace::python
