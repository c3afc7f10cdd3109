#include "headrace/filesystem/object_writer.h"

#include <algorithm>

namespace headrace {
namespace {

// Once the upload has begun, this much is collected before it is handed on in one piece.
constexpr std::size_t kCollectedBytes = 1 << 20;

}  // namespace

Status ObjectWriter::send(BytesView data) {
  if (!upload_) {
    HEADRACE_TRY(upload_, location_.store->start_upload(location_.key, {}));
  }
  if (!buffer_.empty()) HEADRACE_CHECK(upload_->append(buffer_));
  buffer_.clear();
  if (buffer_.capacity() > kCollectedBytes) Bytes().swap(buffer_);
  return data.empty() ? Status{} : upload_->append(data);
}

Status ObjectWriter::append(BytesView data) {
  if (!status_) return status_;
  size_bytes_ += data.size();
  const std::size_t most = upload_ ? kCollectedBytes : kMemoryBytes;
  if (buffer_.size() + data.size() <= most) {
    headrace::append(buffer_, data);
  } else {
    status_ = send(data);
  }
  return status_;
}

Status ObjectWriter::commit() {
  if (!status_) return status_;
  if (!upload_) {
    const auto written = location_.store->write(location_.key, buffer_, {});
    if (!written) status_ = written.error();
    return status_;
  }
  status_ = send({});
  if (!status_) return status_;
  const auto made = upload_->commit();
  if (!made) status_ = made.error();
  return status_;
}

}  // namespace headrace
