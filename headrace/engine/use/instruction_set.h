#pragma once

/// \file Which vector instructions the encoder's inner loops use. Results do not depend on it, speed does.

namespace headrace {

enum class InstructionSet {
  kPortable,  // nothing beyond the architecture's baseline; about 50 times slower than kAvx2
  kAvx2,      // AVX2 and FMA
  kAvx512,    // AVX-512 F, BW, DQ, VL
};

/// Does this processor, under this operating system, have it?
bool is_supported(InstructionSet set);
/// The fastest that is supported.
InstructionSet best_instruction_set();

}  // namespace headrace
