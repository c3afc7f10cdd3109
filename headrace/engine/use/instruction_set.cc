#include "headrace/engine/use/instruction_set.h"

#include <initializer_list>

#include "headrace/engine/use/kernels.h"

namespace headrace {

bool is_supported(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable:
      return true;
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case InstructionSet::kAvx512:
      return is_supported(InstructionSet::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
}

InstructionSet best_instruction_set() {
  for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2}) {
    if (is_supported(set)) return set;
  }
  return InstructionSet::kPortable;
}

const Kernels& kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return avx512_kernels();
    case InstructionSet::kAvx2:
      return avx2_kernels();
    case InstructionSet::kPortable:
      break;
  }
  return portable_kernels();
}

}  // namespace headrace
