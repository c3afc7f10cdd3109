#include "headrace/net/byte_stream.h"

#include <utility>

namespace headrace {
namespace {

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(FileDescriptor socket) : socket_(std::move(socket)) {}
  IoAttempt try_receive(MutableBytesView target) override {
    return receive_from_socket(socket_.get(), target);
  }
  IoAttempt try_send(BytesView data) override { return send_to_socket(socket_.get(), data); }
  int fd() const override { return socket_.get(); }
  void wake_for(std::size_t bytes) override {
    if (std::exchange(least_, bytes) != bytes) wake_reader_for(socket_.get(), bytes);
  }

 private:
  FileDescriptor socket_;
  std::size_t least_ = 1;
};

}  // namespace

std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace headrace
