// Kernels of operations before they have registers and opcodes: nests of loops over loads, arithmetic and stores.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include <algorithm>
#include <array>
#include <map>

namespace accord::microarchitecture {

/// An array that a kernel reads or writes. Elements are stored one behind the other.
struct KernelTensor {
  std::string name;
  int64_t elements = 0;
  int32_t bytes = 4; ///< of an element
  /// Another tensor of the kernel with as many bytes an element, in which this one lies from element `offset` on.
  Index within = kNone;
  int64_t offset = 0;
  Index storage = kNone; ///< of a machine, where it is a buffer; kNone: where tensors begin
};

/// Elements `offset` + sum of stride * iteration of a tensor, and `columns` - 1 behind each; of tiles, `rows` such
/// stretches, `rowStride` elements apart.
struct KernelAccess {
  Index tensor = kNone;
  int64_t offset = 0;
  std::vector<std::pair<Index, int64_t>> strides; ///< by loop of the kernel
  int64_t columns = 1, rows = 1, rowStride = 0;
};

/// One loop over a body, or one instruction to be. A `result` that is among the arguments changes in place; it has a
/// value before the outermost loop that is around this step and not around the step that gave that value.
struct KernelStep {
  Index loop = kNone;
  OpcodeRole role;      ///< with the lanes or the tile of the opcode that is wanted
  Index result = kNone; ///< value
  std::vector<Index> arguments;
  KernelAccess access; ///< of loads and stores
  double constant = 0; ///< of role Constant
  /// Of role AddImmediate: the number. Of role Constant: lanes that hold it, the others being 0; 0: all of them.
  int64_t immediate = 0;
  KernelAccess target = {}; ///< of copies: where to
  Index signals = kNone;    ///< the value of a token that is written too
  /// A step without anything: what is behind it is not fetched before all before it is complete.
  bool isFence() const { return loop == kNone && role.does == Role::None && result == kNone; }
};
/// Of values that are tokens: registers that count.
inline constexpr int64_t kTokenBits = 0;
using KernelBody = std::vector<KernelStep>;

struct KernelLoop {
  std::string name;
  int64_t count = 0;
  KernelBody body;
};

struct LoopKernel {
  std::string name;
  std::vector<KernelTensor> tensors;
  std::vector<KernelLoop> loops;
  KernelBody body;
  std::vector<int64_t> valueBits; ///< by value: what a register needs to hold it
  /// What the kernel takes to be so although the operation does not say it, in words: "rows are looked up in order".
  std::vector<std::string> assumptions = {};
};

/// Writes a kernel from the front to the back.
class KernelBuilder {
public:
  explicit KernelBuilder(std::string name) { kernel.name = std::move(name); }

  Index tensor(std::string name, int64_t elements, int32_t bytes = 4, Index storage = kNone) {
    kernel.tensors.push_back({std::move(name), elements, bytes, kNone, 0, storage});
    return Index(kernel.tensors.size()) - 1;
  }
  /// The tensor has at least so many elements.
  void reserve(Index tensor, int64_t elements) {
    kernel.tensors[tensor].elements = std::max(kernel.tensors[tensor].elements, elements);
  }
  Index value(int64_t bits) {
    kernel.valueBits.push_back(bits);
    return Index(kernel.valueBits.size()) - 1;
  }
  /// Loops that are open, outermost first.
  const std::vector<Index> &around() const { return open; }
  /// What is written until `end` is the body.
  Index begin(std::string name, int64_t count) {
    kernel.loops.push_back({std::move(name), count, {}});
    open.push_back(Index(kernel.loops.size()) - 1);
    return open.back();
  }
  void end() {
    const Index closed = open.back();
    open.pop_back();
    KernelStep step;
    step.loop = closed;
    body().push_back(std::move(step));
  }
  void load(Index result, OpcodeRole role, KernelAccess access) {
    body().push_back({kNone, role, result, {}, std::move(access), 0, 0, {}, kNone});
  }
  void store(Index value, OpcodeRole role, KernelAccess access) {
    body().push_back({kNone, role, kNone, {value}, std::move(access), 0, 0, {}, kNone});
  }
  void copy(OpcodeRole role, KernelAccess from, KernelAccess to) {
    body().push_back({kNone, role, kNone, {}, std::move(from), 0, 0, std::move(to), kNone});
  }
  void compute(Index result, OpcodeRole role, std::vector<Index> arguments) {
    body().push_back({kNone, role, result, std::move(arguments), {}, 0, 0, {}, kNone});
  }
  /// `role` has the shape. Only the first `count` lanes where that is above 0, the others are 0.
  void setConstant(Index result, OpcodeRole role, double constant, int64_t count = 0) {
    role.does = Role::Constant;
    body().push_back({kNone, role, result, {}, {}, constant, count, {}, kNone});
  }
  /// A value that stays the same during the whole kernel.
  Index constant(double number, int32_t lanes, int64_t bits) {
    auto [at, isNew] = constants.try_emplace({number, lanes}, kNone);
    if (isNew) {
      at->second = value(bits);
      head.push_back({kNone, {Role::Constant, lanes}, at->second, {}, {}, number, 0, {}, kNone});
    }
    return at->second;
  }
  LoopKernel finish() {
    kernel.body.insert(kernel.body.begin(), head.begin(), head.end());
    return std::move(kernel);
  }

private:
  KernelBody &body() { return open.empty() ? kernel.body : kernel.loops[open.back()].body; }

  LoopKernel kernel;
  std::vector<Index> open;
  KernelBody head; ///< constants
  std::map<std::pair<double, int32_t>, Index> constants;
};

} // namespace accord::microarchitecture
