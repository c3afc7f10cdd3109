#include "headrace/log/spool.h"

#include "headrace/base/text.h"
#include "headrace/store/file/file_store.h"

namespace headrace {

Result<Spool::File> Spool::add(BytesView data) {
  if (options_.root.empty() || held_bytes_ + data.size() > options_.most_bytes)
    return Error{Code::kResourceExhausted,
                 concat("a spool of ", format_size(options_.root.empty() ? 0 : options_.most_bytes),
                        " has no room for another ", format_size(data.size()))};
  if (!folder_) {
    HEADRACE_TRY(StagedFolder folder, StagedFolder::create(options_.root));
    files_ = make_file_store(folder.path());
    folder_.emplace(std::move(folder));
  }
  const File file{next_number_++, data.size()};
  const auto written = files_->write(concat(file.number), data, {.is_durable = false});
  if (!written) return written.error();
  held_bytes_ += file.size_bytes;
  return file;
}

Result<Bytes> Spool::read(const File& file) const {
  HEADRACE_TRY(ReadObject object, read_object(*files_, concat(file.number), file.size_bytes));
  if (object.data.size() == file.size_bytes) return std::move(object.data);
  return Error{Code::kDataLoss, concat(files_->describe(concat(file.number)), " was altered")};
}

void Spool::remove(const File& file) {
  // An error does no harm: the folder is removed with the spool.
  static_cast<void>(remove_object(*files_, concat(file.number)));
  held_bytes_ -= file.size_bytes;
}

}  // namespace headrace
