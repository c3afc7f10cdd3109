#include "headrace/net/ignite/handshake.h"

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

constexpr std::int8_t kHandshake = 1;
constexpr std::int8_t kThinClient = 2;
constexpr std::int32_t kAuthenticationFailed = 2000;
constexpr std::string_view kIgnite3Magic = "IGNI";

void set_feature(Bytes& bits, ProtocolFeature feature) {
  const unsigned number = static_cast<unsigned>(feature);
  bits[number / 8] |= std::byte{1} << (number % 8);
}

Error refusal(std::int32_t code, const std::optional<std::string>& text, const ProtocolVersion& proposed) {
  const std::string why = printable_line(text.value_or("no reason given"), 300);
  if (code == kAuthenticationFailed || why.find("uthenticat") != std::string::npos)
    return {Code::kUnauthenticated, concat("Ignite refuses the user: ", why, "; check user and password")};
  if (proposed < kOldestVersion || proposed > kNewestVersion)
    return {Code::kUnimplemented,
            concat("Ignite speaks version ", proposed.text(), " of the thin protocol; supported are ",
                   kOldestVersion.text(), " to ", kNewestVersion.text(), " (Ignite 2.5 and later)")};
  return {Code::kUnavailable, concat("Ignite refuses the connection: ", why)};
}

}  // namespace

std::string ProtocolVersion::text() const { return concat(major, '.', minor, '.', maintenance); }

bool Agreement::has(ProtocolFeature feature) const {
  const unsigned number = static_cast<unsigned>(feature);
  return number / 8 < features.size() &&
         (features[number / 8] & (std::byte{1} << (number % 8))) != std::byte{0};
}

Bytes encode_handshake(const ProtocolVersion& version, const Credentials& credentials) {
  Bytes request(4);
  append_little_endian(request, kHandshake);
  append_little_endian(request, version.major);
  append_little_endian(request, version.minor);
  append_little_endian(request, version.maintenance);
  append_little_endian(request, kThinClient);
  if (version >= kFeaturesVersion) {
    Bytes features(2);
    set_feature(features, ProtocolFeature::kEndpoints);
    set_feature(features, ProtocolFeature::kAllAffinityMappings);
    append(request, encode_bytes(features));
  }
  if (!credentials.user.empty()) {
    append_string(request, credentials.user);
    append_string(request, credentials.password);
  }
  store_little_endian(request.data(), static_cast<std::int32_t>(request.size() - 4));
  return request;
}

Result<HandshakeReply> parse_handshake_reply(BytesView reply, const ProtocolVersion& version) {
  ObjectCursor cursor(reply);
  std::uint8_t accepted = 0;
  HandshakeReply parsed;
  if (!cursor.read(accepted) || accepted > 1) return malformed("the answer to the handshake");
  if (accepted == 0) {
    ProtocolVersion& proposed = parsed.proposed;
    std::optional<std::string> why;
    std::int32_t code = 0;
    if (!cursor.read(proposed.major) || !cursor.read(proposed.minor) || !cursor.read(proposed.maintenance) ||
        !read_text(cursor, why))
      return malformed("the refusal of the handshake");
    if (!cursor.read(code)) code = 1;  // old nodes send no code
    if (code == kAuthenticationFailed || proposed == version || proposed < kOldestVersion ||
        proposed > kNewestVersion)
      return refusal(code, why, proposed);
    return parsed;
  }
  Agreement agreement{.version = version};
  if (version >= kFeaturesVersion) {
    HEADRACE_TRY(const BytesView object, take_object(cursor));
    HEADRACE_TRY(const BytesView features, byte_array_content(object));
    agreement.features.assign(features.begin(), features.end());
  }
  if (version >= kFlagsVersion && !read_node_id(cursor, agreement.node))
    return malformed("the node's id in the answer to the handshake");
  parsed.agreement = std::move(agreement);
  return parsed;
}

// A big-endian length, then MessagePack: version 3.0.0, a general client, no features, no extensions.
Bytes encode_ignite_3_handshake() {
  Bytes request = to_bytes(kIgnite3Magic);
  for (const unsigned value : {0x00, 0x00, 0x00, 0x07, 0x03, 0x00, 0x00, 0x02, 0xC4, 0x00, 0x00})
    request.push_back(static_cast<std::byte>(value));
  return request;
}

std::string describe_other_protocol(BytesView first) {
  const std::string_view text = as_text(first);
  if (text.starts_with("HTTP"))
    return "an HTTP server answers here; the port of thin clients is usually 10800";
  if (text.starts_with(kIgnite3Magic)) return std::string(kIgnite3Answers);
  if (first.size() >= 2 && (first[0] == std::byte{0x15} || first[0] == std::byte{0x16}) &&
      first[1] == std::byte{3})
    return "the node speaks TLS; turn TLS on";
  return {};
}

}  // namespace headrace::ignite
