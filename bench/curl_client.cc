/// How fast does libcurl bring a large object into memory that was touched before, and what does it cost? One
/// thread, as many ranges at once as connections, by its multi interface.
///
///   headrace_bench_curl_client URL CONNECTIONS CHUNK BYTES REPEATS
///
/// URL is presigned. Writes JSON to standard output: the seconds of each repeat.

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/measuring/repeats.h"

namespace {

constexpr long kReceiveBytes = 512 << 10;  // libcurl's buffer; the most that version 7 takes

constexpr int kPollMs = 1000;

// One connection's place: where what it receives goes, and how much is still to come.
struct Place {
  CURL* handle = nullptr;
  char* target = nullptr;
  std::size_t left = 0;
};

std::size_t take(char* data, std::size_t, std::size_t size, void* to) {
  Place& place = *static_cast<Place*>(to);
  if (size > place.left) return 0;
  std::memcpy(place.target, data, size);
  place.target += size;
  place.left -= size;
  return size;
}

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

class Client {
 public:
  Client(const std::string& url, std::size_t connections) : places_(connections) {
    for (Place& place : places_) {
      place.handle = curl_easy_init();
      must(place.handle != nullptr, "no easy handle");
      curl_easy_setopt(place.handle, CURLOPT_URL, url.c_str());
      curl_easy_setopt(place.handle, CURLOPT_BUFFERSIZE, kReceiveBytes);
      curl_easy_setopt(place.handle, CURLOPT_FAILONERROR, 1L);
      curl_easy_setopt(place.handle, CURLOPT_WRITEFUNCTION, take);
      curl_easy_setopt(place.handle, CURLOPT_WRITEDATA, &place);
      curl_easy_setopt(place.handle, CURLOPT_PRIVATE, &place);
    }
  }
  ~Client() {
    for (const Place& place : places_) curl_easy_cleanup(place.handle);
    curl_multi_cleanup(multi_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void read(std::vector<char>& into, std::size_t chunk) {
    std::size_t next = 0, running = 0;
    const auto begin = [&](Place& place) {
      if (next == into.size()) return;
      const std::size_t size = std::min(chunk, into.size() - next);
      const std::string range = std::to_string(next) + "-" + std::to_string(next + size - 1);
      curl_easy_setopt(place.handle, CURLOPT_RANGE, range.c_str());
      place.target = into.data() + next;
      place.left = size;
      next += size;
      must(curl_multi_add_handle(multi_, place.handle) == CURLM_OK, "cannot begin");
      ++running;
    };
    for (Place& place : places_) begin(place);
    while (running > 0) {
      int count = 0;
      must(curl_multi_perform(multi_, &count) == CURLM_OK, "cannot go on");
      while (const CURLMsg* message = curl_multi_info_read(multi_, &count)) {
        must(message->data.result == CURLE_OK, curl_easy_strerror(message->data.result));
        char* found = nullptr;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
        Place& place = *reinterpret_cast<Place*>(found);
        must(place.left == 0, "the answer is too short");
        curl_multi_remove_handle(multi_, place.handle);
        --running;
        begin(place);
      }
      if (running > 0) must(curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr) == CURLM_OK, "cannot wait");
    }
  }

 private:
  CURLM* multi_ = curl_multi_init();
  std::vector<Place> places_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    must(argc == 6, "URL CONNECTIONS CHUNK BYTES REPEATS are wanted");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Client client(argv[1], std::stoul(argv[2]));
    std::vector<char> into(std::stoul(argv[4]));
    const std::size_t chunk = std::stoul(argv[3]);
    client.read(into, chunk);  // unmeasured
    headrace::Repeats repeats;
    for (int left = std::stoi(argv[5]); left > 0; --left) repeats.time([&] { client.read(into, chunk); });
    std::cout << repeats.to_json().dump() << "\n";
    return 0;
  } catch (const std::exception& wrong) {
    std::cerr << wrong.what() << "\n";
    return 1;
  }
}
