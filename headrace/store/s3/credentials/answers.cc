#include "headrace/store/s3/credentials/answers.h"

#include <algorithm>
#include <pugixml.hpp>

#include "headrace/base/iso_time.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxReasonBytes = 300;

// Keys and tokens go into header fields, so they must be visible ASCII.
bool is_key_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

Error unusable(std::string_view why) { return {Code::kUnauthenticated, std::string(why)}; }

Result<S3Credentials> checked(S3Credentials credentials, std::string_view expiration) {
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty())
    return unusable("the answer holds no AccessKeyId or no SecretAccessKey");
  if (!is_key_text(credentials.access_key_id) || !is_key_text(credentials.secret_access_key) ||
      !is_key_text(credentials.session_token))
    return unusable("a key or token in the answer contains spaces or non-ASCII characters");
  if (!expiration.empty()) {
    credentials.expires = parse_iso_time(expiration);
    if (!credentials.expires) return unusable("the Expiration in the answer is not a time");
  }
  return credentials;
}

std::string text_at(const Json& document, const char* name) {
  const Json& found = document[name];
  return found.is_string() ? found.text() : "";
}

}  // namespace

Result<S3Credentials> parse_credentials_json(std::string_view text, CredentialsForm form) {
  const Json document = parse_json(text).value_or(Json());
  if (!document.is_object()) return unusable("the answer is not a JSON object");
  if (form == CredentialsForm::kProcess) {
    if (document["Version"] != 1) return unusable("the answer lacks \"Version\": 1");
  } else if (const std::string code = text_at(document, "Code"); !code.empty() && code != "Success") {
    return unusable(concat("the service refuses: ", printable_line(code, kMaxReasonBytes)));
  }
  return checked(
      {.access_key_id = text_at(document, "AccessKeyId"),
       .secret_access_key = text_at(document, "SecretAccessKey"),
       .session_token = text_at(document, form == CredentialsForm::kProcess ? "SessionToken" : "Token")},
      text_at(document, "Expiration"));
}

Result<S3Credentials> parse_sts_credentials(std::string_view xml, std::string_view action) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8))
    return unusable("the answer is not XML");
  const pugi::xml_node credentials = document.child(concat(action, "Response").c_str())
                                         .child(concat(action, "Result").c_str())
                                         .child("Credentials");
  return checked({.access_key_id = credentials.child_value("AccessKeyId"),
                  .secret_access_key = credentials.child_value("SecretAccessKey"),
                  .session_token = credentials.child_value("SessionToken")},
                 credentials.child_value("Expiration"));
}

std::string parse_sts_error(std::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8)) return "";
  const pugi::xml_node error = document.child("ErrorResponse").child("Error");
  const std::string_view code = error.child_value("Code"), message = error.child_value("Message");
  return printable_line(concat(code, code.empty() || message.empty() ? "" : ": ", message), kMaxReasonBytes);
}

}  // namespace headrace
