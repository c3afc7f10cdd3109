#include "headrace/serve/live_model/served_version.h"

#include <algorithm>
#include <future>

namespace headrace {
namespace {

// A row of each input, whose open sizes are 1.
std::vector<RowTensor> smallest_row(const ServedSignature& signature) {
  std::vector<RowTensor> row;
  for (const ServedTensor& input : signature.inputs) {
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : input.shape.sizes()) sizes.push_back(size < 0 ? 1 : size);
    row.push_back({input.type, Shape(std::span(sizes).subspan(1))});
  }
  return row;
}

Status run_zeros(Batcher& batcher, const ServedSignature& signature) {
  HEADRACE_TRY(ReservedRows rows, batcher.reserve(1, smallest_row(signature)));
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (signature.inputs[i].type != DataType::kBytes)
      std::fill_n(rows.at(i, 0), rows.row_bytes(i), std::byte{});
  }
  std::promise<Status> answered;
  std::move(rows).commit([&](const Result<BatchAnswers>& answers) {
    answered.set_value(answers ? Status() : Status(answers.error()));
  });
  return answered.get_future().get();
}

}  // namespace

ServedVersion::ServedVersion(std::uint64_t number, std::string digest, std::unique_ptr<LoadedModel> loaded,
                             const BatcherOptions& options)
    : number_(number), digest_(std::move(digest)), loaded_(std::move(loaded)) {
  for (std::size_t i = 0; i < model().signatures.size(); ++i) {
    BatcherOptions own = options;
    const ServedSignature& signature = model().signatures[i];
    if (!signature.is_batched) own.rows_max = 1;
    // A row more of raw data costs more than a batch of another size.
    if (!signature.is_batched || signature.takes_raw_rows()) own.allowed_rows.clear();
    batchers_.push_back(std::make_unique<Batcher>(loaded_->runner(i), own));
  }
}

void ServedVersion::expire() {
  for (const auto& batcher : batchers_) batcher->expire();
}

void ServedVersion::refuse(const Error& error) {
  for (const auto& batcher : batchers_) batcher->refuse(error);
}

bool ServedVersion::is_idle() const {
  return std::ranges::all_of(batchers_,
                             [](const auto& batcher) { return batcher->counts().requests_in_flight == 0; });
}

std::vector<Batcher::Counts> ServedVersion::counts() const {
  std::vector<Batcher::Counts> out;
  for (const auto& batcher : batchers_) out.push_back(batcher->counts());
  return out;
}

Status warm_up(ServedVersion& version) {
  for (std::size_t i = 0; i < version.model().signatures.size(); ++i) {
    const ServedSignature& signature = version.model().signatures[i];
    if (!signature.is_batched || signature.takes_raw_rows()) continue;
    const Status ran = run_zeros(version.batcher(i), signature);
    if (ran) continue;
    if (auto end = version.ended()) return *std::move(end);
  }
  return {};
}

}  // namespace headrace
