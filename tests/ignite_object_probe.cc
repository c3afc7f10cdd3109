// The program of tests/python/test_ignite_objects.py: headrace/net/ignite's objects against Java's. The files
// are those of tests/ignite/ObjectJudge.java.
//
//   headrace_ignite_object_probe check FILE [full]     compares with the JSON, encodes, compares
//   headrace_ignite_object_probe make FILE SEED COUNT [full]   writes random values and their types

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/object_size.h"
#include "headrace/net/ignite/random_value_test.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::ignite {
namespace {

/// The reason why the object is not what Java says; empty if it is. Without `same_bytes`, the encoder may
/// write other bytes, which then read the same.
std::string check(const Bytes& bytes, const std::string& json, bool same_bytes, const EncodeOptions& options,
                  BinaryTypes& types) {
  const Result<std::size_t> size = object_size(bytes);
  if (!size || *size != bytes.size()) return "its size is wrong";
  const Result<Value> value = decode_object(bytes, types);
  if (!value) return value.error().message;
  const Result<Json> shown = to_json(*value);
  const Result<Json> expected = parse_json(json);
  if (!shown || !expected) return (shown ? expected.error() : shown.error()).message;
  if (!(*shown == *expected)) return "it reads " + shown->dump();
  if (json.find("{\"cycle\":true}") != std::string::npos) return {};
  Bytes encoded;
  const Status status = append_object(*value, options, encoded);
  if (!status) return status.error().message;
  if (!same_bytes) return check(encoded, json, true, options, types);
  if (encoded != bytes) return "it is written as " + base64(encoded);
  return {};
}

int check_file(const std::string& path, const EncodeOptions& options) {
  std::ifstream file(path);
  std::map<std::int32_t, BinaryType> known;
  BinaryTypes types([&known](std::int32_t id) -> Result<std::optional<BinaryType>> {
    const auto found = known.find(id);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  });
  int checked = 0;
  int wrong = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, encoded, json;
    words >> kind >> encoded;
    std::getline(words >> std::ws, json);
    const Bytes bytes = *parse_base64(encoded);
    if (kind == "T") {
      Result<std::optional<BinaryType>> type = read_binary_type(bytes);
      if (!type || !*type) return std::cout << "a type cannot be read: " << encoded << "\n", 1;
      known[(*type)->id] = **type;
      continue;
    }
    const std::string reason = check(bytes, json, kind != "W", options, types);
    ++checked;
    if (reason.empty()) continue;
    ++wrong;
    std::cout << encoded.substr(0, 300) << " " << json.substr(0, 500) << ": " << reason.substr(0, 500)
              << "\n";
  }
  std::cout << "checked " << checked << ", wrong " << wrong << "\n";
  return wrong == 0 && checked > 0 ? 0 : 1;
}

int make_file(const std::string& path, std::uint64_t seed, int count, const EncodeOptions& options) {
  RandomValues values(seed);
  std::ostringstream objects;
  for (int i = 0; i < count; ++i) {
    Bytes bytes;
    const Status status = append_object(values.make(), options, bytes);
    if (!status) return std::cout << status.error().message << "\n", 1;
    objects << "V " << base64(bytes) << "\n";
  }
  std::ofstream file(path);
  for (const auto& [id, type] : values.types) {
    Bytes answer = {std::byte{1}};
    append_binary_type(type, answer);
    file << "T " << base64(answer) << "\n";
  }
  file << objects.str();
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const EncodeOptions options{.compact_footer = arguments.back() != "full"};
  if (arguments.size() >= 2 && arguments[0] == "check") return check_file(arguments[1], options);
  if (arguments.size() >= 4 && arguments[0] == "make") {
    return make_file(arguments[1], *parse_number<std::uint64_t>(arguments[2]),
                     *parse_number<int>(arguments[3]), options);
  }
  std::cerr << "usage: check FILE [full] | make FILE SEED COUNT [full]\n";
  return 2;
}

}  // namespace
}  // namespace headrace::ignite

int main(int argc, char** argv) { return headrace::ignite::run({argv + 1, argv + argc}); }
