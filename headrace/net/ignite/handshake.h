#pragma once

/// \file The first exchange on a connection. Both sides agree on a version of the protocol and on its
/// optional features, and the node authenticates the user. Pure functions between bytes and values.
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
/// Responses have flags since 1.4.0. Handshakes have features since 1.7.0.
inline constexpr ProtocolVersion kFlagsVersion{1, 4, 0};
inline constexpr ProtocolVersion kFeaturesVersion{1, 7, 0};

/// The features that Headrace asks for, by the number of their bit.
enum class ProtocolFeature : unsigned { kEndpoints = 3, kAllAffinityMappings = 13 };

struct Credentials {
  std::string user{};      // empty: no credentials are sent
  std::string password{};  // a secret
};

/// The outcome of a handshake, which applies to the whole connection.
struct Agreement {
  ProtocolVersion version{};
  Bytes features{};  // the node's features, as a bit set
  NodeId node{};     // zero before 1.4.0
  bool has(ProtocolFeature feature) const;
};

/// A reply: an agreement or, if that is none, the version that the node proposes instead.
struct HandshakeReply {
  std::optional<Agreement> agreement{};
  ProtocolVersion proposed{};
};

/// The whole request, including its length.
Bytes encode_handshake(const ProtocolVersion& version, const Credentials& credentials);

/// Parses a reply, without its length, to a request that proposed `version`.
/// \error kUnauthenticated  the node requires a user, or refuses this user
/// \error kUnimplemented    the node speaks no version between kOldestVersion and kNewestVersion
/// \error kUnavailable      the node refuses for another reason, which the message repeats
/// \error kDataLoss         the bytes are not a reply
Result<HandshakeReply> parse_handshake_reply(BytesView reply, const ProtocolVersion& version);

/// The handshake of Ignite 3, including its magic and its length. A node of Ignite 3 is recognised by its
/// answer.
Bytes encode_ignite_3_handshake();
inline constexpr std::string_view kIgnite3Answers =
    "Ignite 3 answers here, whose protocol Headrace does not speak; give the address of a cluster of Ignite "
    "2, "
    "from 2.5 on";

/// Names the protocol of a port that speaks another one, by the first bytes that arrived instead of a reply's
/// length. Empty: unknown.
std::string describe_other_protocol(BytesView first);

}  // namespace headrace::ignite
