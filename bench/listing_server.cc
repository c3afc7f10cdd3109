/// A store of very many tiny objects that takes no disk: `<label>/<9 digits>.txt` for every number below
/// COUNT, half of them under each of two labels.
///
///   headrace_bench_listing_server COUNT
///
/// Listens on 127.0.0.1, writes its port as the first line, and ends with its standard input. It knows what
/// reading an S3 bucket takes: ListObjectsV2 in pages of 1,000, GET and HEAD of an object. No signature is
/// looked at. One thread a connection: no more than bench/prepare_memory.py needs.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::uint64_t kPageObjects = 1000;
constexpr std::string_view kLabels[] = {"negative", "positive"};  // ascending
constexpr std::string_view kEnding = ".txt";
constexpr int kDigits = 9;
constexpr std::string_view kDate = "Sat, 31 Jan 2026 00:00:00 GMT";

class Bucket {
 public:
  explicit Bucket(std::uint64_t count) : count_(count) {}

  // The key at this place in the order of the keys.
  std::string key(std::uint64_t rank) const {
    const std::uint64_t half = (count_ + 1) / 2;
    return concat(kLabels[rank >= half], "/", zero_padded(rank >= half ? rank - half : rank, kDigits),
                  kEnding);
  }

  static std::string text(std::string_view key) { return concat("what ", key, " says"); }

  // The first object whose key comes after `text`, or is it.
  std::uint64_t rank_from(std::string_view text, bool after) const {
    std::uint64_t low = 0, high = count_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const std::string at = key(middle);
      if (at < text || (after && at == text))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  std::optional<std::uint64_t> find(std::string_view name) const {
    const std::uint64_t rank = rank_from(name, false);
    return rank < count_ && key(rank) == name ? std::optional(rank) : std::nullopt;
  }

  std::string list(std::string_view prefix, std::string_view after) const {
    std::uint64_t rank = after.empty() ? rank_from(prefix, false) : rank_from(after, true);
    std::string entries, last;
    std::uint64_t listed = 0;
    for (; rank < count_ && listed < kPageObjects; ++rank, ++listed) {
      std::string name = key(rank);
      if (!name.starts_with(prefix)) break;
      entries +=
          concat("<Contents><Key>", name, "</Key><LastModified>2026-01-31T00:00:00.000Z</LastModified>",
                 "<ETag>&quot;", zero_padded(rank, 32), "&quot;</ETag><Size>", text(name).size(),
                 "</Size></Contents>");
      last = std::move(name);
    }
    const bool has_more = rank < count_ && key(rank).starts_with(prefix);
    return concat(R"(<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><KeyCount>)", listed,
                  "</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>", has_more ? "true" : "false",
                  "</IsTruncated>",
                  has_more ? concat("<NextContinuationToken>", last, "</NextContinuationToken>") : "",
                  entries, "</ListBucketResult>");
  }

 private:
  const std::uint64_t count_;
};

std::string answer(std::string_view status, std::string_view more, std::string_view body, bool has_body) {
  return concat("HTTP/1.1 ", status, "\r\nContent-Length: ", body.size(), "\r\nLast-Modified: ", kDate,
                "\r\n", more, "\r\n", has_body ? body : std::string_view{});
}

std::string parameter(std::string_view query, std::string_view name) {
  for (const std::string& pair : split(query, '&')) {
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with("="))
      return percent_decode(pair.substr(name.size() + 1), true).value_or("");
  }
  return "";
}

// Answers with an object, or a range of it from a first to a last byte; a client may ask beyond the end.
std::string answer_object(const Bucket& bucket, std::string_view name, std::string_view head, bool has_body) {
  const std::optional<std::uint64_t> rank = bucket.find(name);
  if (!rank) return answer("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>", has_body);
  const std::string text = Bucket::text(name);
  const std::string tag = concat("ETag: \"", zero_padded(*rank, 32), "\"\r\n");
  const std::size_t range = head.find("\r\nrange: bytes=");
  if (range == std::string_view::npos) return answer("200 OK", tag, text, has_body);
  const std::string numbers(head.substr(range + 15, head.find("\r\n", range + 2) - range - 15));
  char* end = nullptr;
  const std::uint64_t first =
      std::min<std::uint64_t>(std::strtoull(numbers.c_str(), &end, 10), text.size() - 1);
  const std::uint64_t asked = *end == '-' && end[1] != 0 ? std::strtoull(end + 1, nullptr, 10) : text.size();
  const std::uint64_t last = std::min<std::uint64_t>(asked, text.size() - 1);
  const std::string content_range =
      concat("Content-Range: bytes ", first, "-", last, "/", text.size(), "\r\n");
  return answer("206 Partial Content", concat(tag, content_range),
                std::string_view(text).substr(first, last - first + 1), has_body);
}

std::string answer_to(const Bucket& bucket, std::string head) {
  const std::size_t path_at = head.find(" /") + 2, path_end = head.find(' ', path_at);
  const std::string target = head.substr(path_at, path_end - path_at);
  const bool has_body = !head.starts_with("HEAD");
  std::transform(head.begin(), head.end(), head.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const std::size_t question = target.find('?');
  const std::string query = question == std::string::npos ? "" : target.substr(question + 1);
  const std::string path = percent_decode(target.substr(0, question)).value_or("");
  const std::size_t slash = path.find('/');
  const std::string key = slash == std::string::npos ? "" : path.substr(slash + 1);
  if (!key.empty()) return answer_object(bucket, key, head, has_body);
  std::string after = parameter(query, "continuation-token");
  if (after.empty()) after = parameter(query, "start-after");
  return answer("200 OK", "Content-Type: application/xml\r\n", bucket.list(parameter(query, "prefix"), after),
                has_body);
}

void serve(const Bucket& bucket, const FileDescriptor& client) {
  const int on = 1;
  ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::string received;
  std::array<char, 16 << 10> piece{};
  while (received.size() <= kHeadBytes) {
    const std::size_t end = received.find("\r\n\r\n");
    if (end == std::string::npos) {
      const ssize_t size = ::recv(client.get(), piece.data(), piece.size(), 0);
      if (size <= 0) return;
      received.append(piece.data(), static_cast<std::size_t>(size));
      continue;
    }
    const std::string out = answer_to(bucket, received.substr(0, end + 2));
    received.erase(0, end + 4);
    for (std::size_t sent = 0; sent < out.size();) {
      const ssize_t size = ::send(client.get(), &out[sent], out.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return;
      sent += static_cast<std::size_t>(size);
    }
  }
}

int run(char** argv) {
  static const Bucket bucket(std::strtoull(argv[1], nullptr, 10));
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), 128) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 1;
  }
  std::cout << ntohs(address.sin_port) << std::endl;
  std::thread([fd = listener.get()] {
    while (true) {
      FileDescriptor client(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) return;
      std::thread([](const FileDescriptor one) { serve(bucket, one); }, std::move(client)).detach();
    }
  }).detach();
  while (std::cin.get() != EOF) {
  }
  std::_Exit(0);  // with its threads, which wait for clients
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) { return argc == 2 ? headrace::run(argv) : 2; }
