#include "headrace/serve/protocol/tensor_request.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/raw_rows.h"

namespace headrace {
namespace {

Error misfit(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

class TensorRows final : public BoundRequest {
 public:
  // REQUIRES: one tensor for each input, checked
  TensorRows(std::vector<TensorView> tensors, std::shared_ptr<const void> owner, bool is_batched)
      : tensors_(std::move(tensors)), owner_(std::move(owner)) {
    rows_ = is_batched ? static_cast<std::uint64_t>(tensors_[0].shape[0]) : 1;
    for (const TensorView& tensor : tensors_) {
      row_.push_back({tensor.type, is_batched ? row_shape(tensor.shape) : tensor.shape});
      for (const std::string_view text : tensor.strings) texts_bytes_ += text.size();
    }
  }

  Status fill(ReservedRows& reserved) const override {
    for (std::size_t input = 0; input < tensors_.size(); ++input) {
      if (tensors_[input].type == DataType::kBytes) {
        HEADRACE_CHECK(fill_texts(reserved, input));
      } else {
        fill_numbers(reserved, input);
      }
    }
    return {};
  }

 private:
  void fill_numbers(ReservedRows& reserved, std::size_t input) const {
    const std::uint64_t row_bytes = reserved.row_bytes(input);
    if (row_bytes == 0) return;
    const auto* const from = static_cast<const std::byte*>(tensors_[input].data);
    for (std::uint64_t row = 0; row < rows_;) {
      const std::span<std::byte> run = reserved.run_at(input, row);
      const std::uint64_t rows = std::min<std::uint64_t>(run.size() / row_bytes, rows_ - row);
      std::memcpy(run.data(), from + row * row_bytes, rows * row_bytes);
      row += rows;
    }
  }

  Status fill_texts(ReservedRows& reserved, std::size_t input) const {
    const std::uint64_t elements = row_[input].shape.elements();
    if (elements == 0) return {};
    auto next = tensors_[input].strings.begin();
    for (std::uint64_t row = 0; row < rows_; ++row) {
      for (std::uint64_t element = 0; element < elements; ++element)
        HEADRACE_CHECK(reserved.set_text(input, row, element, *next++));
    }
    return {};
  }

  std::vector<TensorView> tensors_;
  std::shared_ptr<const void> owner_;
};

Status check_booleans(const NamedTensor& input) {
  if (input.tensor.type != DataType::kBool) return {};
  const BytesView bytes(static_cast<const std::byte*>(input.tensor.data), input.tensor.shape.elements());
  const auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte > std::byte{1}; });
  if (wrong == bytes.end()) return {};
  return misfit(concat("byte ", wrong - bytes.begin(), " of the input ", input.name,
                       " is not a boolean: it must be 0 or 1"));
}

Status check_tensor(const NamedTensor& input, const ServedTensor& wanted) {
  if (input.tensor.type != wanted.type)
    return misfit(concat("the input ", input.name, " is of type ", data_type_name(input.tensor.type),
                         "; the signature takes ", data_type_name(wanted.type)));
  if (!wanted.shape.accepts(input.tensor.shape))
    return misfit(concat("the input ", input.name, " has the shape ", input.tensor.shape.text(),
                         "; the signature takes ", wanted.shape.text()));
  return check_booleans(input);
}

Status check_rows(const NamedTensor& input, const NamedTensor& first) {
  if (input.tensor.shape.rank() == 0)
    return misfit(concat("the input ", input.name, " is a scalar; its first dimension should be the rows"));
  const std::int64_t rows = input.tensor.shape[0];
  if (rows < 1) return misfit(concat("the input ", input.name, " has no rows: send at least one"));
  if (rows == first.tensor.shape[0]) return {};
  return misfit(concat("the input ", input.name, " has ", rows, " rows, ", first.name, " has ",
                       first.tensor.shape[0], ": all need the same number"));
}

// Checks tensors whose byte strings are whole rows, and adds the rows.
Result<std::unique_ptr<BoundRequest>> bind_whole_rows(const NamedTensor& input, RawRowsWriter writer) {
  HEADRACE_CHECK(check_rows(input, input));
  if (row_shape(input.tensor.shape).elements() != 1)
    return misfit(concat("the input ", kRawRowsInput, " should have one text for each row"));
  for (const std::string_view row : input.tensor.strings) writer.add_text(row);
  return std::move(writer).finish();
}

Result<std::unique_ptr<BoundRequest>> bind_raw_rows(const std::vector<NamedTensor>& tensors,
                                                    const ServedSignature& signature) {
  RawRowsWriter writer(signature, "row");
  std::vector<const NamedTensor*> columns;
  std::vector<std::uint64_t> row_elements;
  for (const NamedTensor& input : tensors) {
    if (!writer.has_column(input.name)) continue;
    columns.push_back(&input);
    HEADRACE_CHECK(check_rows(input, *columns[0]));
    HEADRACE_CHECK(check_booleans(input));
    row_elements.push_back(row_shape(input.tensor.shape).elements());
    // Rows without elements would cost the client nothing, but the server the columns' names.
    if (row_elements.back() == 0) return misfit(concat("rows of the input ", input.name, " are empty"));
  }
  if (columns.empty() && tensors.size() == 1 && tensors[0].name == kRawRowsInput &&
      tensors[0].tensor.type == DataType::kBytes)
    return bind_whole_rows(tensors[0], std::move(writer));
  if (columns.empty())
    return misfit(concat("no input is a column of the signature ", signature.name,
                         ": name the inputs by the columns, or send texts of rows as ", kRawRowsInput));
  const auto rows = static_cast<std::uint64_t>(columns[0]->tensor.shape[0]);
  for (std::uint64_t row = 0; row < rows; ++row) {
    writer.begin_row();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& [name, tensor] = *columns[i];
      HEADRACE_CHECK(writer.add(name, tensor, row * row_elements[i], row_shape(tensor.shape)));
    }
    HEADRACE_CHECK(writer.end_row());
  }
  return std::move(writer).finish();
}

std::string input_names(const ServedSignature& signature) {
  std::vector<std::string> names;
  for (const ServedTensor& input : signature.inputs) names.push_back(input.name);
  return join(names, ", ");
}

}  // namespace

std::optional<std::uint64_t> checked_elements(std::span<const std::int64_t> sizes) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; }))
    return std::nullopt;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  std::uint64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (product > kMax / static_cast<std::uint64_t>(size)) return std::nullopt;
    product *= static_cast<std::uint64_t>(size);
  }
  return product;
}

Result<std::unique_ptr<BoundRequest>> bind_tensors(std::vector<NamedTensor> tensors,
                                                   std::shared_ptr<const void> owner,
                                                   const ServedSignature& signature) {
  if (tensors.empty()) return misfit("the request has no inputs");
  if (signature.takes_raw_rows()) return bind_raw_rows(tensors, signature);
  std::vector<TensorView> views;
  const NamedTensor* first = nullptr;
  for (const ServedTensor& wanted : signature.inputs) {
    const auto has_name = [&](const NamedTensor& each) { return each.name == wanted.name; };
    const auto found = std::find_if(tensors.begin(), tensors.end(), has_name);
    if (found == tensors.end())
      return misfit(concat("the input ", wanted.name, " is missing; the signature ", signature.name,
                           " takes ", input_names(signature)));
    if (std::find_if(found + 1, tensors.end(), has_name) != tensors.end())
      return misfit(concat("the input ", wanted.name, " is given twice"));
    HEADRACE_CHECK(check_tensor(*found, wanted));
    if (first == nullptr) first = &*found;
    if (signature.is_batched) HEADRACE_CHECK(check_rows(*found, *first));
    views.push_back(found->tensor);
  }
  for (const NamedTensor& tensor : tensors) {
    const auto has_name = [&](const ServedTensor& input) { return input.name == tensor.name; };
    if (!std::any_of(signature.inputs.begin(), signature.inputs.end(), has_name))
      return misfit(concat("the input ", printable_line(tensor.name, 60), " is unknown; the signature ",
                           signature.name, " takes ", input_names(signature)));
  }
  return std::unique_ptr<BoundRequest>(
      std::make_unique<TensorRows>(std::move(views), std::move(owner), signature.is_batched));
}

}  // namespace headrace
