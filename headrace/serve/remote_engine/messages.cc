#include "headrace/serve/remote_engine/messages.h"

#include <algorithm>
#include <type_traits>

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kErrorTextBytes = 4096;
constexpr std::uint64_t kLoadBytesMax = 1 << 30;
constexpr std::uint64_t kLoadedBytesMax = 16 << 20;  // the sender is not trusted

Error no_message() { return {Code::kDataLoss, "a message of an engine process is damaged"}; }

class MessageWriter {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    append_little_endian(bytes_, value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    append(bytes_, as_bytes(text));
  }
  void put_numbers(const std::vector<std::uint32_t>& numbers) {
    put(static_cast<std::uint32_t>(numbers.size()));
    for (const std::uint32_t number : numbers) put(number);
  }
  void put_shape(const Shape& shape) {
    put(static_cast<std::uint8_t>(shape.rank()));
    for (const std::int64_t size : shape.sizes()) put(size);
  }
  void put_error(const Error& error) {
    put(static_cast<std::uint8_t>(error.code));
    put_text(std::string_view(error.message).substr(0, kErrorTextBytes));
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// Reads zeros, and is not `whole`, if the message ends too early.
class MessageReader {
 public:
  explicit MessageReader(BytesView bytes) : left_(bytes) {}

  template <typename T>
  T take() {
    if (left_.size() < sizeof(T)) return fail(), T{};
    const T value = load_little_endian<T>(left_.data());
    left_ = left_.subspan(sizeof(T));
    return value;
  }
  std::string take_text() {
    const auto size = take<std::uint32_t>();
    if (size > left_.size()) return fail(), std::string();
    std::string text = to_string(left_.first(size));
    left_ = left_.subspan(size);
    return text;
  }
  Shape take_shape() {
    const auto rank = take<std::uint8_t>();
    if (rank > Shape::kRankMax) return fail(), Shape();
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < rank; ++i) {
      sizes.push_back(take<std::int64_t>());
      if (sizes.back() < 0) fail();
    }
    return Shape(sizes);
  }
  // Returns at most as many as the message has bytes.
  std::size_t take_count() {
    const auto count = take<std::uint32_t>();
    if (count > left_.size()) return fail(), 0;
    return count;
  }
  std::vector<std::uint32_t> take_numbers() {
    std::vector<std::uint32_t> numbers(take_count());
    for (std::uint32_t& number : numbers) number = take<std::uint32_t>();
    return numbers;
  }
  DataType take_type() {
    const auto type = take<std::uint8_t>();
    if (type >= kDataTypes) return fail(), DataType::kFloat32;
    return static_cast<DataType>(type);
  }
  Error take_error() {
    const auto code = take<std::uint8_t>();
    std::string text = take_text();
    const bool is_code = code >= static_cast<std::uint8_t>(Code::kCancelled) &&
                         code <= static_cast<std::uint8_t>(Code::kUnauthenticated);
    if (!is_code) fail();
    return {is_code ? static_cast<Code>(code) : Code::kUnknown, std::move(text)};
  }
  bool is_whole() const { return is_good_ && left_.empty(); }

 private:
  void fail() {
    is_good_ = false;
    left_ = {};
  }
  BytesView left_;
  bool is_good_ = true;
};

// The JSON document of a load. It goes through shared memory, as texts may have any length.
Json document_of(const EngineLoad& load) {
  return {{"build", load.build},
          {"name", load.name},
          {"folder", load.folder},
          {"digest", load.digest},
          {"attributes", load.attributes},
          {"encoder_weights", load.encoder_weights},
          {"encoder_folders", load.encoder_folders},
          {"intra_op_threads", load.intra_op_threads},
          {"inter_op_threads", load.inter_op_threads},
          {"lanes", load.lanes},
          {"rows_max", load.rows_max}};
}

Result<EngineMessage> load_of(const Json& document) {
  EngineLoad load;
  document.get_to("build", load.build);
  document.get_to("name", load.name);
  document.get_to("folder", load.folder);
  document.get_to("digest", load.digest);
  document.get_to("attributes", load.attributes);
  document.get_to("encoder_weights", load.encoder_weights);
  document.get_to("encoder_folders", load.encoder_folders);
  document.get_to("intra_op_threads", load.intra_op_threads);
  document.get_to("inter_op_threads", load.inter_op_threads);
  document.get_to("lanes", load.lanes);
  document.get_to("rows_max", load.rows_max);
  return EngineMessage(std::move(load));
}

Json document_of(const EngineLoaded& loaded) {
  return {{"model", to_json(loaded.model)},
          {"engine", loaded.engine},
          {"confinement", loaded.confinement},
          {"memory_bytes", loaded.memory_bytes}};
}

Result<EngineMessage> loaded_of(const Json& document) {
  EngineLoaded loaded;
  HEADRACE_TRY(loaded.model, parse_served_model(document.at("model").dump()));
  document.get_to("engine", loaded.engine);
  document.get_to("confinement", loaded.confinement);
  document.get_to("memory_bytes", loaded.memory_bytes);
  return EngineMessage(std::move(loaded));
}

void put_members(const EngineFailed& failed, MessageWriter& out) { out.put_error(failed.error); }
void put_members(const MemoryOffer& offer, MessageWriter& out) {
  out.put(offer.number);
  out.put(offer.size_bytes);
}
void put_members(const MemoryEnd& end, MessageWriter& out) { out.put(end.number); }
void put_members(const MemoryRead& was_read, MessageWriter& out) { out.put_numbers(was_read.numbers); }
void put_members(const EngineRun& run, MessageWriter& out) {
  out.put(run.batch);
  out.put(run.signature);
  out.put(run.memory);
  out.put(run.rows);
  out.put(run.rows_max);
  out.put(run.texts_bytes);
  out.put(static_cast<std::uint32_t>(run.row_shapes.size()));
  for (const Shape& shape : run.row_shapes) out.put_shape(shape);
  out.put_numbers(run.were_read);
}
void put_members(const EngineRan& ran, MessageWriter& out) {
  out.put(ran.batch);
  out.put(static_cast<std::uint8_t>(ran.error.has_value()));
  if (ran.error) return out.put_error(*ran.error);
  out.put(ran.memory);
  out.put(static_cast<std::uint32_t>(ran.outputs.size()));
  for (const PlacedOutput& output : ran.outputs) {
    out.put(static_cast<std::uint8_t>(output.type));
    out.put_shape(output.shape);
    out.put(output.offset_bytes);
    out.put(output.texts_offset_bytes);
    out.put(output.texts_bytes);
  }
}

EngineRun take_run(MessageReader& in) {
  EngineRun run;
  run.batch = in.take<std::uint64_t>();
  run.signature = in.take<std::uint32_t>();
  run.memory = in.take<std::uint32_t>();
  run.rows = in.take<std::uint64_t>();
  run.rows_max = in.take<std::uint64_t>();
  run.texts_bytes = in.take<std::uint64_t>();
  run.row_shapes.resize(in.take_count());
  for (Shape& shape : run.row_shapes) shape = in.take_shape();
  run.were_read = in.take_numbers();
  return run;
}

EngineRan take_ran(MessageReader& in) {
  EngineRan ran;
  ran.batch = in.take<std::uint64_t>();
  if (in.take<std::uint8_t>() != 0) {
    ran.error = in.take_error();
    return ran;
  }
  ran.memory = in.take<std::uint32_t>();
  ran.outputs.resize(in.take_count());
  for (PlacedOutput& output : ran.outputs) {
    output.type = in.take_type();
    output.shape = in.take_shape();
    output.offset_bytes = in.take<std::uint64_t>();
    output.texts_offset_bytes = in.take<std::uint64_t>();
    output.texts_bytes = in.take<std::uint64_t>();
  }
  return ran;
}

MemoryOffer take_offer(MessageReader& in) {
  MemoryOffer offer{.number = in.take<std::uint32_t>()};
  offer.size_bytes = in.take<std::uint64_t>();
  return offer;
}

template <typename T>
constexpr bool kIsDocument = std::is_same_v<T, EngineLoad> || std::is_same_v<T, EngineLoaded>;

// The number of a type in a packet: its index in EngineMessage.
template <typename T, std::size_t index = 0>
constexpr std::uint8_t kind_of() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<index, EngineMessage>>) {
    return index;
  } else {
    return kind_of<T, index + 1>();
  }
}

Status send_document(PacketSocket& socket, std::uint8_t kind, const std::string& text) {
  HEADRACE_TRY(const SharedMemory memory, SharedMemory::create(text.size()));
  std::memcpy(memory.bytes().data(), text.data(), text.size());
  MessageWriter out;
  out.put(kind);
  out.put(static_cast<std::uint64_t>(text.size()));
  return socket.send(out.bytes(), &memory.descriptor());
}

Result<EngineMessage> read_document(std::uint8_t kind, MessageReader& in, FileDescriptor descriptor) {
  const auto size = in.take<std::uint64_t>();
  const std::uint64_t limit = kind == kind_of<EngineLoad>() ? kLoadBytesMax : kLoadedBytesMax;
  if (!in.is_whole() || size == 0 || size > limit) return no_message();
  HEADRACE_TRY(const SharedMemory memory, SharedMemory::map(std::move(descriptor), size, false));
  const std::string text = to_string(memory.bytes());  // a copy: the sender may change the memory
  return read_json(text, no_message().message, kind == kind_of<EngineLoad>() ? load_of : loaded_of);
}

EngineMessage read_members(std::uint8_t kind, MessageReader& in) {
  switch (kind) {
    case kind_of<EngineFailed>():
      return EngineFailed{in.take_error()};
    case kind_of<MemoryOffer>():
      return take_offer(in);
    case kind_of<MemoryEnd>():
      return MemoryEnd{in.take<std::uint32_t>()};
    case kind_of<MemoryRead>():
      return MemoryRead{in.take_numbers()};
    case kind_of<EngineRun>():
      return take_run(in);
    default:
      return take_ran(in);
  }
}

}  // namespace

Status send_message(PacketSocket& socket, const EngineMessage& message, const FileDescriptor* descriptor) {
  return std::visit(
      [&]<typename T>(const T& each) -> Status {
        if constexpr (kIsDocument<T>) {
          return send_document(socket, kind_of<T>(), document_of(each).dump());
        } else {
          MessageWriter out;
          out.put(kind_of<T>());
          put_members(each, out);
          if (out.bytes().size() > kPacketBytesMax)
            return Error{Code::kInvalidArgument,
                         "the signature has too many inputs or outputs for a message"};
          return socket.send(out.bytes(), descriptor);
        }
      },
      message);
}

Result<ReceivedMessage> read_message(Packet packet) {
  MessageReader in(packet.bytes);
  const auto kind = in.take<std::uint8_t>();
  if (kind >= std::variant_size_v<EngineMessage>) return no_message();
  if (kind == kind_of<EngineLoad>() || kind == kind_of<EngineLoaded>()) {
    HEADRACE_TRY(EngineMessage message, read_document(kind, in, std::move(packet.descriptor)));
    return ReceivedMessage{std::move(message), FileDescriptor()};
  }
  EngineMessage message = read_members(kind, in);
  const bool has_right_descriptor = packet.descriptor.is_open() == (kind == kind_of<MemoryOffer>());
  if (!in.is_whole() || !has_right_descriptor) return no_message();
  return ReceivedMessage{std::move(message), std::move(packet.descriptor)};
}

}  // namespace headrace
