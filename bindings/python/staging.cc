#include "bindings/python/staging.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/python/buffers.h"
#include "bindings/python/choices.h"
#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

// Name, kind, values; offsets, validity, lists or None: see _headrace.pyi.
using GivenColumn = std::tuple<std::string, std::string, nb::object, nb::object, nb::object, nb::object>;

// A Python buffer as numbers; no numbers if the object is None. REQUIRES: the GIL, to make and to destroy it
template <typename Number>
class LentNumbers {
 public:
  explicit LentNumbers(const nb::object& owner) {
    if (owner.is_none()) return;
    buffer_ = std::make_unique<LentBuffer>(owner, LentBuffer::Access::kRead);
  }
  bool is_given() const { return buffer_ != nullptr; }
  bool is_whole() const {
    const BytesView bytes = buffer_->view();
    return bytes.size() % sizeof(Number) == 0 &&
           reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Number) == 0;
  }
  /// REQUIRES: it is given and whole
  std::span<const Number> view() const {
    const BytesView bytes = buffer_->view();
    return {reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number)};
  }

 private:
  std::unique_ptr<LentBuffer> buffer_;
};

class StagedColumn {
 public:
  explicit StagedColumn(const GivenColumn& given)
      : name_(std::get<0>(given)),
        type_(data_type_of(std::get<1>(given))),
        values_(std::get<2>(given)),
        offsets_(std::get<3>(given)),
        validity_(std::get<4>(given)),
        lists_(std::get<5>(given)) {}

  const std::string& name() const { return name_; }

  // Checks that everything is present that `add` reads for `rows` rows.
  Status check(std::size_t rows) const {
    const std::size_t size = type_ == DataType::kFloat32 ? sizeof(float)
                             : type_ == DataType::kInt64 ? sizeof(std::int64_t)
                                                         : 1;
    const BytesView bytes = values_.view();
    if (bytes.size() % size != 0 || reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0)
      return wrong("values that are cut off or not aligned");
    if (validity_.is_given() && validity_.view().size() != rows)
      return wrong("a number of flags that differs from the number of rows");
    if (!offsets_.is_given()) {
      const bool has_one_each = !lists_.is_given() && type_ != DataType::kBytes;
      return has_one_each && bytes.size() / size == rows ? Status{} : wrong("no offsets");
    }
    if (!lists_.is_given()) return check_offsets(offsets_, rows, bytes.size() / size);
    if (type_ != DataType::kBytes) return wrong("lists of lists");
    if (!offsets_.is_whole() || offsets_.view().empty()) return wrong("a wrong number of offsets");
    const std::size_t byte_strings = offsets_.view().size() - 1;
    HEADRACE_CHECK(check_offsets(offsets_, byte_strings, bytes.size()));
    return check_offsets(lists_, rows, byte_strings);
  }

  // REQUIRES: `check` returned no error; `builder` is written before the next call
  void add(std::size_t row, ExampleBuilder& builder) {
    if (validity_.is_given() && validity_.view()[row] == std::byte{0}) return;
    if (lists_.is_given()) return add_list(row, builder);
    std::size_t begin = row, count = 1;
    if (offsets_.is_given()) {
      begin = static_cast<std::size_t>(offsets_.view()[row]);
      count = static_cast<std::size_t>(offsets_.view()[row + 1]) - begin;
    }
    switch (type_) {
      case DataType::kBytes:
        return builder.add_bytes(name_, values_.view().subspan(begin, count));
      case DataType::kFloat32:
        return builder.add_floats(name_, {as<float>() + begin, count});
      default:
        return builder.add_int64s(name_, {as<std::int64_t>() + begin, count});
    }
  }

 private:
  // Checks that there is one offset more than `count`, and that none is larger than `values`.
  Status check_offsets(const LentNumbers<std::int64_t>& given, std::size_t count, std::size_t values) const {
    if (!given.is_whole() || given.view().size() != count + 1) return wrong("a wrong number of offsets");
    const std::span<const std::int64_t> offsets = given.view();
    const bool ascends = std::is_sorted(offsets.begin(), offsets.end()) && offsets.front() >= 0;
    if (!ascends || static_cast<std::uint64_t>(offsets.back()) > values)
      return wrong("offsets that do not ascend, or lead beyond the values");
    return {};
  }

  void add_list(std::size_t row, ExampleBuilder& builder) {
    byte_strings_.clear();
    for (std::int64_t i = lists_.view()[row]; i < lists_.view()[row + 1]; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const auto begin = static_cast<std::size_t>(offsets_.view()[place]);
      const auto end = static_cast<std::size_t>(offsets_.view()[place + 1]);
      byte_strings_.push_back(values_.view().subspan(begin, end - begin));
    }
    builder.add_bytes_list(name_, byte_strings_);
  }

  template <typename Number>
  const Number* as() const {
    return reinterpret_cast<const Number*>(values_.view().data());
  }
  Error wrong(std::string_view what) const {
    return {Code::kInvalidArgument, concat("column ", name_, " has ", what)};
  }

  const std::string name_;
  const DataType type_;
  const LentNumbers<std::byte> values_;
  const LentNumbers<std::int64_t> offsets_;
  const LentNumbers<std::byte> validity_;
  const LentNumbers<std::int64_t> lists_;
  std::vector<BytesView> byte_strings_;  // of the current row
};

Status encode(std::size_t rows, const std::vector<std::unique_ptr<StagedColumn>>& columns, Bytes& out) {
  for (const auto& column : columns) HEADRACE_CHECK(column->check(rows));
  ExampleBuilder builder;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t record = begin_record(out);
    for (const auto& column : columns) column->add(row, builder);
    builder.append_to(out);
    end_record(out, record);
  }
  return {};
}

nb::bytes encode_examples(std::size_t rows, const std::vector<GivenColumn>& given) {
  std::vector<std::unique_ptr<StagedColumn>> columns;
  for (const GivenColumn& column : given) columns.push_back(std::make_unique<StagedColumn>(column));
  // The builder is fastest if names come in its order.
  std::sort(columns.begin(), columns.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
  Bytes out;
  Status outcome;
  {
    const WithoutGil released;
    outcome = encode(rows, columns, out);
  }
  check(outcome);
  return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_staging(nb::module_& module) {
  module.def("encode_examples", &encode_examples, nb::arg("rows"), nb::arg("columns"));
}

}  // namespace headrace::python
