#pragma once

/// \file The first exchange on a connection: both sides agree on a version of the protocol and on its
/// optional features, and the node checks the user. Pure: bytes in, bytes out.
/// docs/formats/ignite-protocol.md has the layout.

#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/message.h"

namespace headrace::ignite {

struct ProtocolVersion {
  std::int16_t major = 1;
  std::int16_t minor = 7;
  std::int16_t maintenance = 0;
  auto operator<=>(const ProtocolVersion&) const = default;
  std::string text() const;
};

inline constexpr ProtocolVersion kNewestVersion{1, 7, 0};
inline constexpr ProtocolVersion kOldestVersion{1, 2, 0};
/// Responses carry flags since 1.4.0, and handshakes features since 1.7.0.
inline constexpr ProtocolVersion kFlagsVersion{1, 4, 0};
inline constexpr ProtocolVersion kFeaturesVersion{1, 7, 0};

/// The numbers of the features' bits; we ask for these.
enum class ProtocolFeature : unsigned { kEndpoints = 3, kAllAffinityMappings = 13 };

struct Credentials {
  std::string user{};      // empty: none is sent
  std::string password{};  // a secret
};

/// The outcome of a handshake, which holds for the connection.
struct Agreement {
  ProtocolVersion version{};
  Bytes features{};  // the node's, as a bit set
  NodeId node{};     // zero before 1.4.0
  bool has(ProtocolFeature feature) const;
};

/// A reply: an agreement, or the version that the node proposes instead.
struct HandshakeReply {
  std::optional<Agreement> agreement{};
  ProtocolVersion proposed{};
};

/// The whole request, its length included.
Bytes encode_handshake(const ProtocolVersion& version, const Credentials& credentials);

/// Parses a reply without its length, to a request of `version`.
/// \error kUnauthenticated  the node wants a user, or refuses this one
/// \error kUnimplemented    it speaks no version between kOldestVersion and kNewestVersion
/// \error kUnavailable      it refuses for another reason, which the message repeats
/// \error kDataLoss         it is not a reply
Result<HandshakeReply> parse_handshake_reply(BytesView reply, const ProtocolVersion& version);

/// The handshake of Ignite 3, its magic and its length included: by the answer we recognise one.
Bytes encode_ignite_3_handshake();
inline constexpr std::string_view kIgnite3Answers =
    "Ignite 3 answers here, whose protocol Headrace does not speak; give the address of a cluster of Ignite "
    "2, "
    "from 2.5 on";

/// Names the other protocol that speaks on the port, by the first bytes that came in place of a reply's
/// length; empty: unknown.
std::string describe_other_protocol(BytesView first);

}  // namespace headrace::ignite
