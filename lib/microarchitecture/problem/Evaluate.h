// The cycles that an expression says of an instruction.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include <algorithm>

namespace accord::microarchitecture {

/// -1 where it is not defined: an immediate that the instruction does not have, a division by what is not positive.
/// Between -2^62 and 2^62.
inline Cycles evaluate(const CycleExpression &expression, const Instruction &of) {
  using Kind = CycleExpression::Kind;
  constexpr __int128 kMax = __int128(1) << 62;
  __int128 stack[CycleExpression::kMaxDepth]{};
  size_t top = 0;
  __int128 bytes = 0;
  for (const MemoryOperand &operand : of.memory)
    bytes += operand.bytes;
  for (const CycleExpression::Term &term : expression.terms) {
    if (term.kind == Kind::Constant || term.kind == Kind::Immediate || term.kind == Kind::Bytes) {
      if (top == CycleExpression::kMaxDepth ||
          (term.kind == Kind::Immediate && (term.value < 0 || size_t(term.value) >= of.immediates.size())))
        return -1;
      stack[top++] = term.kind == Kind::Constant ? term.value
                     : term.kind == Kind::Bytes  ? bytes
                                                 : of.immediates[term.value];
      continue;
    }
    if (top < 2)
      return -1;
    const __int128 right = stack[--top], left = stack[--top];
    if (term.kind == Kind::DivideUp && right <= 0)
      return -1;
    const __int128 value = term.kind == Kind::Add        ? left + right
                           : term.kind == Kind::Subtract ? left - right
                           : term.kind == Kind::Multiply ? left * right
                           : term.kind == Kind::DivideUp ? (left >= 0 ? (left + right - 1) / right : left / right)
                           : term.kind == Kind::Min      ? std::min(left, right)
                                                         : std::max(left, right);
    stack[top++] = std::clamp(value, -kMax, kMax);
  }
  return top == 0 ? 0 : top == 1 ? Cycles(std::clamp(stack[0], -kMax, kMax)) : -1;
}

} // namespace accord::microarchitecture
