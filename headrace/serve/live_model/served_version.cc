#include "headrace/serve/live_model/served_version.h"

#include <algorithm>

namespace headrace {

ServedVersion::ServedVersion(std::uint64_t number, std::string digest, std::unique_ptr<LoadedModel> loaded,
                             const BatcherOptions& options)
    : number_(number), digest_(std::move(digest)), loaded_(std::move(loaded)) {
  for (std::size_t i = 0; i < model().signatures.size(); ++i) {
    BatcherOptions own = options;
    const ServedSignature& signature = model().signatures[i];
    if (!signature.is_batched) own.rows_max = 1;
    // With raw rows, filling a batch up with more rows costs more than running a batch of another size.
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

}  // namespace headrace
