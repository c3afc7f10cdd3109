#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"

namespace headrace {
namespace {

constexpr int kGzipWindow = 15 + 16;  // inflateInit2: the largest window, and only the gzip format
constexpr int kZlibWindow = 15;

// zlib's counts have 32 bits.
uInt bounded(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

struct Inflater::State {
  Compression compression;
  std::uint64_t limit_bytes;
  std::uint64_t consumed_bytes = 0;
  std::uint64_t produced_bytes = 0;
  std::uint64_t members = 0;
  std::vector<MemberStart> starts = {{}};
  bool inside_member = true;  // an empty file holds no member, so it is truncated
  z_stream stream{};
  bool ready = false;

  State(Compression wrapping, std::uint64_t limit) : compression(wrapping), limit_bytes(limit) {
    if (compression == Compression::kNone) {
      ready = true;
      inside_member = false;
    } else {
      ready = inflateInit2(&stream, compression == Compression::kGzip ? kGzipWindow : kZlibWindow) == Z_OK;
    }
  }
  ~State() {
    if (ready && compression != Compression::kNone) inflateEnd(&stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  InflateStep copy(BytesView input, MutableBytesView output) const {
    const std::size_t size = std::min(input.size(), output.size());
    if (size > 0) std::memcpy(output.data(), input.data(), size);
    return {size, size};
  }

  // Between members, zero bytes are padding. Any other byte begins the next member.
  std::size_t skip_padding(BytesView input) {
    const auto begin =
        std::find_if(input.begin(), input.end(), [](std::byte byte) { return byte != std::byte{0}; });
    const auto skipped = static_cast<std::size_t>(begin - input.begin());
    if (begin != input.end()) {
      inflateReset(&stream);
      inside_member = true;
      begin_member({consumed_bytes + skipped, produced_bytes});
    }
    return skipped;
  }

  // All content since the last recorded start belongs to that start.
  void begin_member(const MemberStart& start) {
    if (start.uncompressed_offset - starts.back().uncompressed_offset >= kLeastMemberBytes)
      starts.push_back(start);
  }

  Result<InflateStep> inflate_member(BytesView input, MutableBytesView output) {
    const uInt input_bytes = bounded(input.size()), output_bytes = bounded(output.size());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream.avail_in = input_bytes;
    stream.next_out = reinterpret_cast<Bytef*>(output.data());
    stream.avail_out = output_bytes;
    const int outcome = ::inflate(&stream, Z_NO_FLUSH);
    const InflateStep step{input_bytes - stream.avail_in, output_bytes - stream.avail_out};
    if (outcome == Z_STREAM_END) {
      ++members;
      inside_member = false;
    } else if (outcome == Z_MEM_ERROR) {
      return Error{Code::kResourceExhausted, "no memory to decompress"};
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      return Error{Code::kDataLoss,
                   concat(compression_name(compression), " data are corrupt at offset ",
                          consumed_bytes + step.consumed_bytes, " (",
                          stream.msg != nullptr ? stream.msg : "a preset dictionary is needed", ")")};
    }
    return step;
  }
};

Inflater::Inflater(Compression compression, std::uint64_t limit_bytes)
    : state_(std::make_unique<State>(compression, limit_bytes)) {}
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

Result<InflateStep> Inflater::step(BytesView input, MutableBytesView output) {
  if (!state_->ready) return Error{Code::kResourceExhausted, "no memory for a decompressor"};
  InflateStep total;
  // After the last input byte zlib may still hold output, so the loop calls it until no more output comes.
  while (total.produced_bytes < output.size()) {
    const BytesView rest = input.subspan(total.consumed_bytes);
    InflateStep step;
    if (state_->compression == Compression::kNone) {
      step = state_->copy(rest, output.subspan(total.produced_bytes));
    } else if (state_->inside_member) {
      HEADRACE_TRY(step, state_->inflate_member(rest, output.subspan(total.produced_bytes)));
    } else {
      step.consumed_bytes = state_->skip_padding(rest);
      if (step.consumed_bytes == 0 && !state_->inside_member) break;
    }
    const bool stuck = step.consumed_bytes == 0 && step.produced_bytes == 0;
    total.consumed_bytes += step.consumed_bytes;
    total.produced_bytes += step.produced_bytes;
    state_->consumed_bytes += step.consumed_bytes;
    state_->produced_bytes += step.produced_bytes;
    if (state_->produced_bytes > state_->limit_bytes) {
      return Error{Code::kResourceExhausted,
                   concat("the content is larger than the limit of ", state_->limit_bytes, " bytes")};
    }
    if (stuck && total.consumed_bytes == input.size()) break;
  }
  return total;
}

Status Inflater::finish() const {
  if (!state_->inside_member) return {};
  return Error{Code::kDataLoss, concat(compression_name(state_->compression),
                                       " data are truncated at offset ", state_->consumed_bytes)};
}

std::uint64_t Inflater::members() const { return state_->members; }

const std::vector<MemberStart>& Inflater::member_starts() const { return state_->starts; }

}  // namespace headrace
