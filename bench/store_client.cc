/// How fast do objects of an S3 store move, and what do they cost? Beside a client that does the least that
/// can be done. One thread each; memory that was touched before.
///
///   headrace_bench_store_client read URL BYTES REPEATS        an object into memory
///   headrace_bench_store_client write URL BYTES REPEATS       memory into an object
///   headrace_bench_store_client read_many URL COUNT BYTES REPEATS   the objects URL00000, URL00001, …
///   headrace_bench_store_client queue URL COUNT BYTES         COUNT ranges of an object, in one call
///   headrace_bench_store_client latency URL BYTES COUNT       reads one after the other
///   headrace_bench_store_client raw_read HOST:PORT tls|plain CONNECTIONS CHUNK TARGET BYTES REPEATS
///   headrace_bench_store_client raw_write HOST:PORT tls|plain CONNECTIONS CHUNK FILE BYTES REPEATS
///
/// TARGET is a presigned request target; FILE holds one for each part of each repeat. All write JSON to
/// standard output: the seconds of each repeat. bench/read_objects.py and others run the peers beside it.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>

#include "bench/measuring/raw_http.h"
#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using Arguments = std::vector<std::string>;

std::size_t number(const Arguments& arguments, std::size_t at) {
  const auto value = parse_number<std::size_t>(arguments.at(at));
  if (!value || *value == 0) throw std::invalid_argument(concat(arguments[at], " is not a number above 0"));
  return *value;
}

// Once unmeasured, then so many times.
Result<Json> measured(std::size_t times, const std::function<Status()>& work) {
  HEADRACE_CHECK(work());
  Repeats repeats;
  for (std::size_t i = 0; i < times; ++i) HEADRACE_CHECK(repeats.time(work));
  return repeats.to_json();
}

Bytes noise(std::size_t size) {
  std::mt19937_64 random(44);
  Bytes bytes(size);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  return bytes;
}

Result<Json> read(const Location& object, const Arguments& arguments) {
  Bytes target(number(arguments, 2));
  return measured(number(arguments, 3), [&] { return read_exactly(*object.store, object.key, target, {}); });
}

Result<Json> write(const Location& object, const Arguments& arguments) {
  const Bytes data = noise(number(arguments, 2));
  return measured(number(arguments, 3), [&]() -> Status {
    HEADRACE_CHECK(object.store->write(object.key, data, {}));
    return {};
  });
}

Result<Json> read_many(const Location& objects, const Arguments& arguments) {
  const std::size_t count = number(arguments, 2), size = number(arguments, 3);
  Bytes target(count * size);
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    std::string digits = concat(i);
    digits.insert(0, 5 - std::min<std::size_t>(digits.size(), 5), '0');
    requests.push_back(
        {.key = objects.key + digits, .target = MutableBytesView(target).subspan(i * size, size)});
  }
  return measured(number(arguments, 4), [&] { return objects.store->read_many(requests, {}); });
}

// All ranges of one object in one call.
Result<Json> queue(const Location& object, const Arguments& arguments) {
  const std::size_t count = number(arguments, 2), size = number(arguments, 3);
  Bytes target(count * size);
  std::vector<ReadRequest> requests;
  for (std::size_t at = 0; at < target.size(); at += size) {
    requests.push_back(
        {.key = object.key, .offset_bytes = at, .target = MutableBytesView(target).subspan(at, size)});
  }
  HEADRACE_CHECK(object.store->read_many(requests, {}));
  return Json::object();
}

Result<std::vector<std::string>> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) return Error{Code::kNotFound, concat(path, " holds no request targets")};
  return lines;
}

Result<RawServer> raw_server(const Arguments& arguments) {
  const std::size_t colon = arguments.at(1).find(':');
  if (colon == std::string::npos) return Error{Code::kInvalidArgument, "HOST:PORT is wanted"};
  const auto port = parse_number<std::uint16_t>(arguments[1].substr(colon + 1));
  if (!port) return Error{Code::kInvalidArgument, "no port"};
  return RawServer{arguments[1].substr(0, colon), *port, arguments.at(2) == "tls"};
}

Result<Json> raw_read(const Arguments& arguments) {
  HEADRACE_TRY(const RawServer server, raw_server(arguments));
  const std::size_t chunk = number(arguments, 4), size = number(arguments, 6);
  Bytes target(size);
  std::vector<RawRequest> requests;
  for (std::size_t at = 0; at < size; at += chunk) {
    const MutableBytesView part = MutableBytesView(target).subspan(at, std::min(chunk, size - at));
    requests.push_back({.head = concat("GET ", arguments[5], " HTTP/1.1\r\nHost: ", arguments[1],
                                       "\r\nRange: bytes=", at, '-', at + part.size() - 1, "\r\n\r\n"),
                        .target = part});
  }
  RawHttp client(server, static_cast<int>(number(arguments, 3)));
  return measured(number(arguments, 7), [&] { return client.run(requests); });
}

Result<Json> raw_write(const Arguments& arguments) {
  HEADRACE_TRY(const RawServer server, raw_server(arguments));
  HEADRACE_TRY(const std::vector<std::string> targets, lines_of(arguments.at(5)));
  const std::size_t chunk = number(arguments, 4);
  const Bytes data = noise(number(arguments, 6));
  RawHttp client(server, static_cast<int>(number(arguments, 3)));
  std::size_t next = 0;
  return measured(number(arguments, 7), [&] {
    std::vector<RawRequest> requests;
    for (std::size_t at = 0; at < data.size(); at += chunk) {
      const BytesView part = BytesView(data).subspan(at, std::min(chunk, data.size() - at));
      requests.push_back({.head = concat("PUT ", targets.at(next++), " HTTP/1.1\r\nHost: ", arguments[1],
                                         "\r\nContent-Length: ", part.size(), "\r\n\r\n"),
                          .body = part});
    }
    return client.run(requests);
  });
}

// Seconds of each of many reads, one after the other; and what was sent for them.
Result<Json> latency(const Location& object, const Arguments& arguments) {
  Bytes target(number(arguments, 2));
  std::vector<double> wall_s;
  for (std::size_t i = 0; i < number(arguments, 3); ++i) {
    const double begin = seconds(CLOCK_MONOTONIC);
    HEADRACE_CHECK(read_exactly(*object.store, object.key, target, {}));
    wall_s.push_back(seconds(CLOCK_MONOTONIC) - begin);
  }
  return Json({{"wall_s", wall_s}});
}

Result<Json> measure(const Arguments& arguments) {
  const std::string& what = arguments.at(0);
  if (what == "raw_read") return raw_read(arguments);
  if (what == "raw_write") return raw_write(arguments);
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(const Location at, registry.open(arguments.at(1)));
  if (what == "read") return read(at, arguments);
  if (what == "write") return write(at, arguments);
  if (what == "read_many") return read_many(at, arguments);
  if (what == "queue") return queue(at, arguments);
  if (what == "latency") return latency(at, arguments);
  return Error{Code::kInvalidArgument, concat("there is no \"", what, "\"")};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  try {
    const auto measured = headrace::measure({argv + 1, argv + argc});
    if (measured) std::cout << measured->dump() << "\n";
    if (!measured) std::fprintf(stderr, "%s\n", measured.error().message.c_str());
    return measured ? 0 : 1;
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 2;
  }
}
