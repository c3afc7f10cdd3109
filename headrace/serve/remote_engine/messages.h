#pragma once

/// \file The messages between a server and its engine processes: docs/decisions/serving.md, "Messages". Each
/// is one packet; some carry a descriptor. Both ends are of one build, so the format has no version.

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

/// To the process, as the first message: the model to load.
struct EngineLoad {
  std::string build;              // of the server
  std::string name;               // of the model, for error messages
  std::string folder;             // with the model's files
  std::string digest{};           // of the export
  std::string attributes{};       // of the export's manifest, JSON; empty: Headrace did not write the model
  std::string encoder_weights{};  // folder; empty: the default folder
  /// Local folders with the files of encoders that are SavedModels, by name of the encoder.
  std::map<std::string, std::string, std::less<>> encoder_folders{};
  int intra_op_threads = 1;
  int inter_op_threads = 1;
  std::uint64_t lanes = 1;
  std::uint64_t rows_max = 64;  // of a batch
  bool operator==(const EngineLoad&) const = default;
};

/// From the process: the model is loaded.
struct EngineLoaded {
  ServedModel model;
  std::string engine;              // "tensorflow 2.21.0"
  std::string confinement;         // for people: "no network, no files but its folder"
  std::uint64_t memory_bytes = 0;  // memory that the process uses
};

/// From the process: it could not load the model, and exits.
struct EngineFailed {
  Error error;
};

/// In either direction, with a descriptor: a new piece of shared memory. Each side numbers its own pieces.
struct MemoryOffer {
  std::uint32_t number = 0;
  std::uint64_t size_bytes = 0;
};
/// In either direction: the sender no longer uses this piece of its memory.
struct MemoryEnd {
  std::uint32_t number = 0;
};
/// To the process: the server has read the outputs in these pieces of the process's memory.
struct MemoryRead {
  std::vector<std::uint32_t> numbers;
};

/// To the process: run this batch.
struct EngineRun {
  std::uint64_t batch = 0;
  std::uint32_t signature = 0;  // its index
  std::uint32_t memory = 0;     // number of a piece of the server's memory
  std::uint64_t rows = 0;
  std::uint64_t rows_max = 0;  // of the batch's layout
  std::uint64_t texts_bytes = 0;
  std::vector<Shape> row_shapes;  // of each input
  /// As MemoryRead: the pieces that were read since the last message that named such pieces.
  std::vector<std::uint32_t> were_read{};
};

/// One output, in memory of the process. If its type is kBytes, a TextPlace stands at `offset_bytes` for each
/// element, and the texts lie at `texts_offset_bytes`.
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
  std::optional<Error> error{};  // if present, the other members mean nothing
  std::uint32_t memory = 0;      // number of a piece of the process's memory
  /// In the order of the signature. If rows have failed, one more output follows, with a text for each row:
  /// why the row has failed, or an empty text if it has not.
  std::vector<PlacedOutput> outputs{};
};

using EngineMessage = std::variant<EngineLoad, EngineLoaded, EngineFailed, MemoryOffer, MemoryEnd, MemoryRead,
                                   EngineRun, EngineRan>;

/// Sends a message. Never blocks. `descriptor` belongs to a MemoryOffer; null for other messages. Texts of
/// errors are cut to 4 KiB.
/// \error kInvalidArgument    a signature has too many inputs or outputs for a packet
/// \error kResourceExhausted  the system has no memory for a large message
/// \error as PacketSocket::send
Status send_message(PacketSocket& socket, const EngineMessage& message,
                    const FileDescriptor* descriptor = nullptr);

struct ReceivedMessage {
  EngineMessage message;
  FileDescriptor descriptor;  // of a MemoryOffer
};
/// Parses and checks a packet.
/// \error kDataLoss  the packet is not a message; the caller must end the process that sent it
Result<ReceivedMessage> read_message(Packet packet);

}  // namespace headrace
