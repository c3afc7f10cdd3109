#include "headrace/net/ignite/object_size.h"

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_cursor.h"

namespace headrace::ignite {
namespace {

/// Steps over one object after another. Each function returns false if the bytes end or are wrong.
class SizeWalk {
 public:
  explicit SizeWalk(BytesView bytes) : cursor_(bytes) {}

  bool skip_object(int depth) {
    fault_ = cursor_.position();
    TypeCode code{};
    if (depth > kObjectDepthLimit) {
      reason_ = concat("objects nest deeper than ", kObjectDepthLimit);
      return false;
    }
    return cursor_.read(code) && skip_content(code, depth);
  }
  std::size_t position() const { return cursor_.position(); }
  Error error() const {
    return {Code::kDataLoss, concat("the Ignite object at byte ", fault_, " is damaged: ", reason_)};
  }

 private:
  bool skip_content(TypeCode code, int depth) {
    switch (code) {
      case TypeCode::kNull:
        return true;
      case TypeCode::kHandle:
        return cursor_.skip(4);
      case TypeCode::kUuid:
        return cursor_.skip(16);
      case TypeCode::kDate:
      case TypeCode::kTime:
        return cursor_.skip(8);
      case TypeCode::kTimestamp:
        return cursor_.skip(12);
      case TypeCode::kDecimal:
        return cursor_.skip(4) && skip_counted(1);
      case TypeCode::kString:
      case TypeCode::kByteArray:
      case TypeCode::kJavaSerialized:
        return skip_counted(1);
      case TypeCode::kWrapped:
        return skip_counted(1) && cursor_.skip(4);
      case TypeCode::kComplex:
        return skip_complex();
      case TypeCode::kEnum:
      case TypeCode::kBinaryEnum:
        return skip_type() && cursor_.skip(4);
      case TypeCode::kClass:
        return skip_type();
      case TypeCode::kProxy:
        return skip_proxy(depth);
      case TypeCode::kStringArray:
      case TypeCode::kUuidArray:
      case TypeCode::kDateArray:
      case TypeCode::kTimestampArray:
      case TypeCode::kTimeArray:
      case TypeCode::kDecimalArray:
        return skip_objects(0, 1, depth);
      case TypeCode::kObjectArray:
      case TypeCode::kEnumArray:
        return skip_type() && skip_objects(0, 1, depth);
      case TypeCode::kCollection:
        return skip_objects(1, 1, depth);
      case TypeCode::kMap:
        return skip_objects(1, 2, depth);
      default:
        return skip_primitive(code);
    }
  }

  bool skip_primitive(TypeCode code) {
    const std::size_t bytes = primitive_bytes(code);
    if (bytes == 0) {
      reason_ = concat("no type has the code ", static_cast<int>(code));
      return false;
    }
    return code <= TypeCode::kBool ? cursor_.skip(bytes) : skip_counted(bytes);
  }

  bool skip_counted(std::size_t element_bytes) {
    std::size_t count = 0;
    return cursor_.read_count(element_bytes, count) && cursor_.skip(count * element_bytes);
  }

  /// Skips a count, `extra` bytes, and `per_count` objects for each unit of the count.
  bool skip_objects(std::size_t extra, std::size_t per_count, int depth) {
    std::size_t count = 0;
    if (!cursor_.read_count(per_count, count) || !cursor_.skip(extra)) return false;
    for (std::size_t i = 0; i < count * per_count; ++i) {
      if (!skip_object(depth + 1)) return false;
    }
    return true;
  }

  bool skip_type() {
    std::int32_t type_id = 0;
    std::string_view name;
    return cursor_.read(type_id) && (type_id != kUnregisteredType || cursor_.take_name(name));
  }

  bool skip_proxy(int depth) {
    std::size_t interfaces = 0;
    if (!cursor_.read_count(4, interfaces)) return false;
    for (std::size_t i = 0; i < interfaces; ++i) {
      if (!skip_type()) return false;
    }
    return skip_object(depth + 1);
  }

  bool skip_complex() {
    BytesView header;
    if (!cursor_.take(kHeaderBytes - 1, header)) return false;
    const auto size = load_little_endian<std::uint32_t>(header.data() + kSizeOffset - 1);
    if (size < kHeaderBytes) {
      reason_ = concat("a size of ", size, " bytes is less than the header's");
      return false;
    }
    return cursor_.skip(size - kHeaderBytes);
  }

  ObjectCursor cursor_;
  std::size_t fault_ = 0;
  std::string reason_ = "the bytes end inside it";
};

}  // namespace

Result<std::size_t> object_size(BytesView bytes) {
  SizeWalk walk(bytes);
  if (!walk.skip_object(1)) return walk.error();
  return walk.position();
}

}  // namespace headrace::ignite
