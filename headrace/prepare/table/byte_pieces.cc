#include "headrace/prepare/table/byte_pieces.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

Error changed(const SourceFile& file, std::string_view what) {
  return {Code::kFailedPrecondition,
          concat(file.location.describe(), " ", what,
                 " since the input was listed: run headrace prepare or plan again, with --overwrite")};
}

}  // namespace

Result<std::unique_ptr<BytePieces>> BytePieces::open(SourceFile file, CompressionOfHead compression_of_head) {
  // A listing has no checksum to compare with.
  auto object = file.location.store->stat(file.location.key, {});
  if (!object && object.error().code == Code::kNotFound) return changed(file, "was removed");
  if (!object) return std::move(object).error();
  if (object->version != file.version || object->size_bytes != file.size_bytes)
    return changed(file, "was written");
  std::unique_ptr<BytePieces> pieces(new BytePieces(std::move(file), *std::move(object)));
  if (Status opened = pieces->input_.open(compression_of_head); !opened)
    return pieces->describe(opened.error());
  pieces->read_ahead();
  return pieces;
}

BytePieces::BytePieces(SourceFile file, ObjectInfo object)
    : file_(std::move(file)), input_(*file_.location.store, std::move(object), CallOptions()) {}

Error BytePieces::describe(const Error& error) const {
  if (error.code == Code::kNotFound) return changed(file_, "was removed");
  if (error.code == Code::kFailedPrecondition) return changed(file_, "was written").in(error.message);
  return error.in(concat("reading ", file_.location.describe()));
}

// Starts to read the next piece. It needs no thread if nothing has to be fetched or inflated. The system may
// also refuse a thread; the piece is then read when it is used.
void BytePieces::read_ahead() {
  const bool is_cheap = !input_.is_gzip() && (input_.position() == 0 || consumed_bytes_ == file_.size_bytes);
  ahead_ = std::async(is_cheap ? std::launch::deferred : std::launch::async | std::launch::deferred,
                      [this] { return input_.next(); });
}

Result<bool> BytePieces::next(const std::function<void(BytesView)>& use) {
  if (!ahead_.valid()) return false;
  Result<BytesView> piece = ahead_.get();
  if (!piece) return describe(piece.error());
  consumed_bytes_ = input_.position();
  if (piece->empty()) {
    if (Status drained = input_.drain(); !drained) return describe(drained.error());
    return false;
  }
  use(*piece);
  read_ahead();
  return true;
}

}  // namespace headrace
