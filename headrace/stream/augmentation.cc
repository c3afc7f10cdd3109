#include "headrace/stream/augmentation.h"

#include <algorithm>
#include <array>

#include "headrace/stream/order.h"

namespace headrace {
namespace {

constexpr float kMostSample = 255;

// A number from 0 to `count` - 1.
std::uint32_t below(std::uint32_t count, std::uint64_t half_draw) {
  return static_cast<std::uint32_t>(half_draw * count >> 32);
}

// A number from 0 to below 1 that float32 represents exactly.
double fraction_of(std::uint64_t draw) { return static_cast<double>(draw >> 40) / (1 << 24); }

void store(float value, float& to) { to = std::clamp(value, 0.0F, kMostSample); }
void store(float value, std::uint8_t& to) {
  to = static_cast<std::uint8_t>(std::clamp(value, 0.0F, kMostSample) + 0.5F);
}

std::uint32_t color_channels(std::uint32_t channels) { return channels % 2 == 0 ? channels - 1 : channels; }

// Calls `use` with each sample that is not alpha, and with its channel.
template <typename Sample, typename Use>
void for_each_color(const Pixels<Sample>& pixels, Use use) {
  const std::uint32_t colors = color_channels(pixels.channels);
  for (std::size_t y = 0; y < pixels.size.height; ++y) {
    Sample* const end = pixels.row(y) + pixels.row_samples();
    for (Sample* pixel = pixels.row(y); pixel != end; pixel += pixels.channels)
      for (std::uint32_t channel = 0; channel < colors; ++channel) use(pixel[channel], channel);
  }
}

template <typename Sample>
void apply(const Flip&, std::uint64_t draw, Pixels<Sample>& pixels) {
  if (draw >> 63 != 0) flip_horizontally(pixels);
}

template <typename Sample>
void apply(const Crop& part, std::uint64_t draw, Pixels<Sample>& pixels) {
  const std::uint32_t top = below(pixels.size.height - part.size.height + 1, draw >> 32);
  const std::uint32_t left = below(pixels.size.width - part.size.width + 1, draw & 0xffffffff);
  pixels = crop(pixels, {.left = left, .top = top, .size = part.size});
}

template <typename Sample>
void apply(const Brightness& brightness, std::uint64_t draw, Pixels<Sample>& pixels) {
  const auto added = static_cast<float>((2 * fraction_of(draw) - 1) * brightness.delta * kMostSample);
  for_each_color(pixels,
                 [&](Sample& sample, std::uint32_t) { store(static_cast<float>(sample) + added, sample); });
}

template <typename Sample>
void apply(const Contrast& contrast, std::uint64_t draw, Pixels<Sample>& pixels) {
  const auto factor = static_cast<float>(
      contrast.lower + fraction_of(draw) * (static_cast<double>(contrast.upper) - contrast.lower));
  std::array<double, Image::kMaxChannels> sums{};
  for_each_color(pixels, [&](Sample& sample, std::uint32_t channel) { sums[channel] += sample; });
  std::array<float, Image::kMaxChannels> means{};
  const double count = static_cast<double>(pixels.size.height) * pixels.size.width;
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = static_cast<float>(sums[i] / count);
  for_each_color(pixels, [&](Sample& sample, std::uint32_t channel) {
    store((static_cast<float>(sample) - means[channel]) * factor + means[channel], sample);
  });
}

template <typename Sample>
void apply_all(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
               Pixels<Sample>& pixels) {
  for (std::size_t i = 0; i < augmentations.size(); ++i) {
    const std::uint64_t draw = augmentation_draw(seed, at, i);
    std::visit([&](const auto& augmentation) { apply(augmentation, draw, pixels); }, augmentations[i]);
  }
}

}  // namespace

std::uint64_t augmentation_draw(std::uint64_t seed, const DrawPosition& at, std::uint64_t number) {
  return siphash(derive_order_key(seed, "augment", at.epoch, number), at.position);
}

void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutablePixelsView& pixels) {
  apply_all(augmentations, seed, at, pixels);
}

void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutableFloatPixelsView& pixels) {
  apply_all(augmentations, seed, at, pixels);
}

}  // namespace headrace
