#include "headrace/stream/loaded_block.h"

#include <algorithm>

namespace headrace {

LoadedBlock LoadedBlock::lost(std::uint64_t record_count, Error why) {
  BlockContents contents;
  contents.holes.push_back({0, record_count, std::move(why)});
  LoadedBlock block(std::move(contents));
  block.lost_records_ = record_count;
  return block;
}

void LoadedBlock::lose_rest() {
  contents_.holes.resize(1);
  contents_.holes.front().end = record_count();
}

const Error* LoadedBlock::hole(std::uint64_t record) const {
  const std::vector<BlockHole>& holes = contents_.holes;
  if (holes.empty()) return nullptr;
  const auto after = std::ranges::upper_bound(holes, record, {}, &BlockHole::first);
  return after != holes.begin() && record < (after - 1)->end ? &(after - 1)->error : nullptr;
}

BytesView LoadedBlock::data(std::uint64_t record) const {
  const std::vector<std::uint64_t>& offsets = contents_.offsets;
  return contents_.bytes.view().subspan(offsets[record] + contents_.data_offset,
                                        offsets[record + 1] - offsets[record] - kRecordFramingBytes);
}

Result<BytesView> LoadedBlock::record(std::uint64_t record) const {
  if (const Error* error = hole(record)) return *error;
  return data(record);
}

}  // namespace headrace
