#include "headrace/cli/servers/serve/http_answer.h"

#include <array>
#include <charconv>
#include <chrono>
#include <ctime>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::string_view status_phrase(unsigned status) {
  static constexpr std::pair<unsigned, std::string_view> kPhrases[] = {
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  };
  for (const auto& [number, phrase] : kPhrases) {
    if (number == status) return phrase;
  }
  return "Status";
}

// Formatted only once a second for each thread: formatting takes longer than all the rest of a head.
std::string_view http_date() {
  thread_local std::time_t formatted = -1;
  thread_local std::array<char, 40> text{};
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  if (now != formatted) {
    static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm utc{};
    gmtime_r(&now, &utc);
    const std::string made =
        concat(kDays[utc.tm_wday], ", ", zero_padded(static_cast<std::uint64_t>(utc.tm_mday), 2), " ",
               kMonths[utc.tm_mon], " ", utc.tm_year + 1900, " ",
               zero_padded(static_cast<std::uint64_t>(utc.tm_hour), 2), ":",
               zero_padded(static_cast<std::uint64_t>(utc.tm_min), 2), ":",
               zero_padded(static_cast<std::uint64_t>(utc.tm_sec), 2), " GMT");
    made.copy(text.data(), text.size() - 1);
    formatted = now;
  }
  return text.data();
}

bool is_token_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(character) != std::string_view::npos;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  for (const char character : name) out += is_token_character(character) ? character : '-';
  out += ": ";
  for (const char character : value) {
    const auto byte = static_cast<unsigned char>(character);
    out += (byte < 0x20 && byte != '\t') || byte == 0x7f ? ' ' : character;
  }
  out += "\r\n";
}

bool is_servers_own(std::string_view name) {
  const std::string lower = to_lower(name);
  return name.empty() || lower == "content-length" || lower == "connection" || lower == "transfer-encoding" ||
         lower == "date" || lower == "content-type";
}

}  // namespace

bool status_has_body(unsigned status) { return status >= 200 && status != 204 && status != 304; }

HttpAnswer error_answer(unsigned status, std::string_view reason) {
  HttpAnswer answer{.status = status, .body = "{\"error\": \""};
  for (const char character : reason) {
    if (character == '"' || character == '\\') answer.body += '\\';
    answer.body += static_cast<unsigned char>(character) < 0x20 ? ' ' : character;
  }
  answer.body += "\"}\n";
  return answer;
}

void write_answer_head(const HttpAnswer& answer, ConnectionField connection, std::string& out) {
  const unsigned status = answer.status >= 200 && answer.status <= 599 ? answer.status : 500;
  char digits[24];
  const auto number = [&digits](std::uint64_t value) {
    return std::string_view(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  out.assign("HTTP/1.1 ");
  out += number(status);
  out += ' ';
  out += status_phrase(status);
  out += "\r\nDate: ";
  out += http_date();
  out += "\r\n";
  if (status_has_body(status)) {
    if (!answer.content_type.empty()) append_field(out, "Content-Type", answer.content_type);
    out += "Content-Length: ";
    out += number(answer.body.size() + answer.stream_bytes);
    out += "\r\n";
  }
  if (connection == ConnectionField::kClose) out += "Connection: close\r\n";
  if (connection == ConnectionField::kKeepAlive) out += "Connection: keep-alive\r\n";
  for (const auto& [name, value] : answer.headers) {
    if (!is_servers_own(name)) append_field(out, name, value);
  }
  out += "\r\n";
}

}  // namespace headrace
