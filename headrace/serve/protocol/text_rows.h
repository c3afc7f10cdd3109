#pragma once

/// \file A request with one text for each row of its only input: raw rows, or tf.Examples.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/serve/protocol/bound_request.h"

namespace headrace {

/// Texts, stored one after another.
struct TextList {
  std::string text;
  std::vector<std::uint64_t> ends;  // where each text ends in `text`
};

/// The rows of such a request. Shares the texts.
class TextRows final : public BoundRequest {
 public:
  explicit TextRows(std::shared_ptr<const TextList> texts) : texts_(std::move(texts)) {
    rows_ = texts_->ends.size();
    row_ = {{DataType::kBytes, {}}};
    texts_bytes_ = texts_->text.size();
  }

  Status fill(ReservedRows& reserved) const override {
    std::uint64_t begin = 0;
    for (std::uint64_t row = 0; row < rows_; ++row) {
      const std::uint64_t end = texts_->ends[row];
      HEADRACE_CHECK(reserved.set_text(0, row, 0, std::string_view(texts_->text).substr(begin, end - begin)));
      begin = end;
    }
    return {};
  }

 private:
  std::shared_ptr<const TextList> texts_;
};

}  // namespace headrace
