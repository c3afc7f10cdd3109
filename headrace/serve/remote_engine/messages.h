#pragma once

/// \file The messages between a server and its engine processes: docs/decisions/serving.md, "Messages". Each
/// is one packet; some carry a descriptor. Both ends are of one build, so the form has no version.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/os/packet_socket.h"
#include "headrace/os/shared_memory.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// To the process, first: what it has to load.
struct EngineLoad {
  std::string build;              // of the server
  std::string name;               // of the model, in messages
  std::string folder;             // with the model's files
  std::string digest{};           // of the export
  std::string attributes{};       // of its manifest, JSON; empty: another program wrote the SavedModel
  std::string encoder_weights{};  // folder; empty: the usual place
  /// Local folders with the files of encoders that are SavedModels, by the names of the encoders.
  std::map<std::string, std::string, std::less<>> encoder_folders{};
  int intra_op_threads = 1;
  int inter_op_threads = 1;
  std::uint64_t lanes = 1;
  std::uint64_t rows_max = 64;  // of a batch
  bool operator==(const EngineLoad&) const = default;
};

/// From the process: it is ready.
struct EngineLoaded {
  ServedModel model;
  std::string engine;              // "tensorflow 2.21.0"
  std::string confinement;         // "no network, no files but its folder"; for people
  std::uint64_t memory_bytes = 0;  // that it has in use
};

/// From the process: it could not load the model, and ends.
struct EngineFailed {
  Error error;
};

/// Either way, with a descriptor: a new shared memory. The sender numbers its own.
struct MemoryOffer {
  std::uint32_t number = 0;
  std::uint64_t size_bytes = 0;
};
/// Either way: this memory of the sender's is not used any more.
struct MemoryEnd {
  std::uint32_t number = 0;
};
/// To the process: the outputs in these memories of its own were read.
struct MemoryRead {
  std::vector<std::uint32_t> numbers;
};

/// To the process: run this batch.
struct EngineRun {
  std::uint64_t batch = 0;
  std::uint32_t signature = 0;  // index
  std::uint32_t memory = 0;     // of the server's
  std::uint64_t rows = 0;
  std::uint64_t rows_max = 0;  // of the batch's layout
  std::uint64_t texts_bytes = 0;
  std::vector<Shape> row_shapes;  // of each input
  /// As MemoryRead: what was read since the last message that said so.
  std::vector<std::uint32_t> were_read{};
};

/// One output, in memory of the process. Where its type is kBytes, there is a TextPlace for each element, and
/// its texts lie in `texts`.
struct PlacedOutput {
  DataType type = DataType::kFloat32;
  Shape shape{};
  std::uint64_t offset_bytes = 0;
  std::uint64_t texts_offset_bytes = 0;
  std::uint64_t texts_bytes = 0;
};

/// From the process: the answer to a batch.
struct EngineRan {
  std::uint64_t batch = 0;
  std::optional<Error> error{};  // then nothing else counts
  std::uint32_t memory = 0;      // of the process
  /// In the order of the signature. If rows have failed, one more: a text for each row, why it has failed;
  /// empty: it has not.
  std::vector<PlacedOutput> outputs{};
};

using EngineMessage = std::variant<EngineLoad, EngineLoaded, EngineFailed, MemoryOffer, MemoryEnd, MemoryRead,
                                   EngineRun, EngineRan>;

/// Returns at once. `descriptor`: of a MemoryOffer. Texts of errors are cut to 4 KiB.
/// \error as PacketSocket::send; kResourceExhausted  the system has no memory for a large message
Status send_message(PacketSocket& socket, const EngineMessage& message,
                    const FileDescriptor* descriptor = nullptr);

struct ReceivedMessage {
  EngineMessage message;
  FileDescriptor descriptor;  // of a MemoryOffer
};
/// \error kDataLoss  it is no message: the process that sent it is to be ended
Result<ReceivedMessage> read_message(Packet packet);

}  // namespace headrace
