#include "headrace/engine/use/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kWindowBytes = 16 << 10;
constexpr std::size_t kMaxNodes = 1 << 24;  // the number of an edge's parent takes 24 bits of the edge's key
constexpr std::size_t kMaxCharacterBytes = 4, kMaxPieceBytes = 1 << 10;
constexpr double kUnknownPenalty = 10;  // the value that SentencePiece uses
constexpr double kUnreached = -std::numeric_limits<double>::infinity();

std::size_t slot(std::uint32_t key, std::size_t slots) {
  return (key * 0x9e3779b97f4a7c15U >> 24) & (slots - 1);
}

}  // namespace

struct Tokenizer::Window {
  std::string_view text;
  std::vector<Best> best;  // by position in the text
  std::size_t reach = 0;   // the furthest end of a piece so far
  double score = 0;        // of the path before this window
  std::vector<std::int32_t> ids;

  void offer(std::size_t end, const Best& path) {
    reach = std::max(reach, end);
    if (path.score > best[end].score) best[end] = path;
  }
};

Result<Tokenizer> Tokenizer::create(const SentencePieceModel& model) {
  if (model.pieces.size() < 3 || model.pieces[kBegin].text != "<s>" || model.pieces[kEnd].text != "</s>") {
    return Error{Code::kInvalidArgument, "SentencePiece model: pieces 1 and 2 are not <s> and </s>"};
  }
  Tokenizer tokenizer;
  HEADRACE_TRY(tokenizer.normalizer_, Normalizer::create(model.character_map));
  std::size_t total_bytes = 0;
  std::size_t longest_bytes = kMaxCharacterBytes;
  for (const auto& piece : model.pieces) {
    total_bytes += piece.text.size();
    longest_bytes = std::max(longest_bytes, piece.text.size());
  }
  if (total_bytes >= kMaxNodes || longest_bytes > kMaxPieceBytes) {
    return Error{Code::kInvalidArgument, "SentencePiece model: it has too many pieces, or too long ones"};
  }
  tokenizer.edges_.resize(1 << 10);
  tokenizer.piece_of_node_ = {-1};
  for (const auto& piece : model.pieces) {
    tokenizer.insert(piece.text, static_cast<std::int32_t>(tokenizer.scores_.size()));
    tokenizer.scores_.push_back(piece.score);
  }
  tokenizer.longest_piece_bytes_ = longest_bytes;
  tokenizer.unknown_score_ = *std::ranges::min_element(tokenizer.scores_) - kUnknownPenalty;
  return tokenizer;
}

void Tokenizer::insert(std::string_view piece, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char byte : piece) {
    std::uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(piece_of_node_.size());
      piece_of_node_.push_back(-1);
      add_child(node, byte, next);
    }
    node = next;
  }
  piece_of_node_[node] = id;
}

std::uint32_t Tokenizer::child(std::uint32_t node, char byte) const {
  const std::uint32_t key = node << 8 | static_cast<unsigned char>(byte);
  for (std::size_t i = slot(key, edges_.size());; i = (i + 1) & (edges_.size() - 1)) {
    if (edges_[i].child == 0 || edges_[i].key == key) return edges_[i].child;
  }
}

void Tokenizer::add_child(std::uint32_t node, char byte, std::uint32_t child) {
  const auto place = [&](const Edge& edge) {
    std::size_t i = slot(edge.key, edges_.size());
    while (edges_[i].child != 0) i = (i + 1) & (edges_.size() - 1);
    edges_[i] = edge;
  };
  if (piece_of_node_.size() * 2 > edges_.size()) {
    std::vector<Edge> old(edges_.size() * 4);
    old.swap(edges_);
    for (const Edge& edge : old) {
      if (edge.child != 0) place(edge);
    }
  }
  place({node << 8 | static_cast<unsigned char>(byte), child});
}

// Extends the paths by every piece that starts here, shorter pieces first, and by the unknown piece if no
// piece is exactly one character long.
void Tokenizer::extend_paths(Window& window, std::size_t start, std::size_t character_bytes) const {
  const double score = window.best[start].score;
  const auto from = static_cast<std::uint32_t>(start);
  bool has_single = false;
  std::uint32_t node = 0;
  for (std::size_t end = start; end < window.text.size();) {
    node = child(node, window.text[end++]);
    if (node == 0) break;
    const std::int32_t piece = piece_of_node_[node];
    if (piece < 0) continue;
    window.offer(end, {score + static_cast<double>(scores_[piece]), from, piece});
    has_single |= end - start == character_bytes;
  }
  if (!has_single) window.offer(start + character_bytes, {score + unknown_score_, from, kUnknown});
}

// Finds the best path through the window, up to the last position that every path visits. In the text's last
// window, up to the end. Leaves the ids of the path in the window, and returns the length of the text that
// they cover.
std::size_t Tokenizer::segment(Window& window, bool is_last) const {
  const std::size_t size = window.text.size();
  // A piece that begins before this position cannot be cut off by the window's end.
  const std::size_t complete = is_last ? size : size - std::min(size, longest_piece_bytes_);
  window.best.assign(size + 1, {kUnreached, 0, 0});
  window.best[0].score = window.score;
  window.reach = 0;
  std::size_t end = 0, position = 0;
  while (position < complete) {
    const std::size_t character_bytes = first_utf8_character(window.text.substr(position)).length;
    extend_paths(window, position, character_bytes);
    position += character_bytes;
    if (window.reach == position) end = position;
  }
  if (end == 0) end = position;
  window.score = window.best[end].score;
  window.ids.clear();
  for (std::size_t at = end; at > 0; at = window.best[at].start) window.ids.push_back(window.best[at].piece);
  std::ranges::reverse(window.ids);
  return end;
}

void Tokenizer::tokenize(std::string_view text,
                         const std::function<void(std::span<const std::int32_t>)>& sink) const {
  std::string replaced;
  if (!is_valid_utf8(text)) text = replaced = replace_invalid_utf8(text).text;
  sink(std::array{kBegin});
  Normalizer::Cursor cursor{text};
  std::string normalized;
  std::size_t done = 0;
  Window window;
  while (true) {
    if (done * 2 >= normalized.size()) normalized.erase(0, std::exchange(done, 0));
    normalizer_.advance(cursor, done + kWindowBytes, normalized);
    window.text = std::string_view(normalized).substr(done, 2 * kWindowBytes);
    if (window.text.empty()) break;
    const bool is_last = cursor.at_end() && done + window.text.size() == normalized.size();
    done += segment(window, is_last);
    sink(window.ids);
    if (is_last) break;
  }
  if (window.ids.empty()) sink(std::array{kUnknown});
  sink(std::array{kEnd});
}

}  // namespace headrace
