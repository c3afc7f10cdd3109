#pragma once

/// \file The vector instructions that the encoder's inner loops use. They change the speed, not the results.

namespace headrace {

enum class InstructionSet {
  kPortable,  // nothing beyond the architecture's baseline; about 50 times slower than kAvx2
  kAvx2,      // AVX2 and FMA
  kAvx512,    // AVX-512 F, BW, DQ, VL
};

/// True if this processor, under this operating system, has the instructions.
bool is_supported(InstructionSet set);
/// The fastest supported set.
InstructionSet best_instruction_set();

}  // namespace headrace
