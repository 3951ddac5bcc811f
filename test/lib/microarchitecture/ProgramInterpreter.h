// What programs of kernels compute: every instruction is executed on real numbers by the role of its opcode.
#pragma once
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/LowerKernel.h"
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace accord::microarchitecture {

class ProgramInterpreter {
public:
  ProgramInterpreter(const MappedKernel &kernel, const Microarchitecture &machine) : kernel(kernel), machine(machine) {
    for (const MappedKernel::Place &place : kernel.tensors)
      tensors.emplace_back(place.elements, 0.0);
    if (!kernel.constants.empty())
      tensors.back() = kernel.constants;
    for (size_t t = 0; t < tensors.size(); ++t)
      if (kernel.tensors[t].isBuffer)
        tensors[t].assign(tensors[t].size(), NAN); // what is there before shows
    for (auto [reg, number] : kernel.presets)
      at(reg) = {double(number)};
  }

  std::vector<std::vector<double>> tensors;
  std::map<Role, int64_t> counts; ///< instructions executed
  std::string wrong;              ///< the first thing that was

  /// One instruction after the other.
  void run() { run(kernel.program.body); }

  /// In the order of time on the machine: an instruction takes what registers and memories hold when it starts, and
  /// what it gives is there when it is complete. Where program and machine do not order two, values are wrong.
  void runByTime() {
    InstructionEngine engine(machine, kernel.program);
    timed = &engine;
    run(kernel.program.body);
    struct Event {
      Cycles at;
      size_t number;
      bool isEnd;
      auto operator<=>(const Event &) const = default;
    };
    std::vector<Event> events;
    for (size_t n = 0; n < visits.size(); ++n)
      events.push_back({visits[n].start, n, false}), events.push_back({visits[n].complete, n, true});
    std::sort(events.begin(), events.end());
    std::vector<Effect> under(visits.size());
    for (const Event &event : events) {
      if (!wrong.empty())
        return;
      Visited &is = visits[event.number];
      if (event.isEnd) {
        give(under[event.number]);
        under[event.number] = {};
        continue;
      }
      iterations = is.iterations, extents = is.extents;
      under[event.number] = execute(is.instruction);
    }
  }

private:
  using Numbers = std::vector<double>;

  Numbers &at(const Register &reg) { return registers[{reg.file, reg.number}]; }
  void fail(std::string what) {
    if (wrong.empty())
      wrong = std::move(what);
  }

  void run(const Body &body) {
    for (const Item &item : body) {
      if (!wrong.empty())
        return;
      if (item.isFence()) {
        if (timed)
          timed->fence();
        continue;
      }
      if (item.loop == kNone) {
        if (!timed) {
          give(execute(item.instruction));
        } else {
          const Visit visit = timed->step(item.instruction);
          visits.push_back({item.instruction, visit.start, visit.complete, iterations, extents});
        }
        continue;
      }
      const InstructionLoop &loop = kernel.program.loops[item.loop];
      iterations.push_back(0), extents.push_back(loop.count);
      for (int64_t i = 0; i < loop.count; ++i) {
        iterations.back() = i;
        if (timed && i > 0)
          timed->advance(item.loop, 1);
        run(loop.body);
      }
      if (timed && loop.count > 1)
        timed->advance(item.loop, 1 - loop.count);
      iterations.pop_back(), extents.pop_back();
    }
  }

  int64_t addressOf(const MemoryOperand &operand) const {
    int64_t address = operand.address.base;
    for (size_t d = 0; d < operand.address.strides.size(); ++d)
      address += operand.address.strides[d] * iterations[d];
    return address;
  }
  /// Elements of a stretch of memory, to be read or written.
  std::vector<double *> elements(const MemoryOperand &operand) {
    const int64_t address = addressOf(operand);
    for (size_t t = 0; t < tensors.size(); ++t) {
      const MappedKernel::Place &place = kernel.tensors[t];
      const int64_t end = place.begin + place.elements * place.bytes;
      if (operand.storage != place.storage || address < place.begin || address >= end)
        continue;
      if (address + operand.bytes > end || (address - place.begin) % place.bytes || operand.bytes % place.bytes)
        break;
      std::vector<double *> all;
      for (int64_t e = (address - place.begin) / place.bytes; int64_t(all.size()) < operand.bytes / place.bytes; ++e)
        all.push_back(&tensors[t][e]);
      return all;
    }
    fail(fmt::format("an instruction reaches {} bytes at {}", operand.bytes, address));
    return {};
  }

  /// What an instruction gives.
  struct Effect {
    std::vector<std::pair<double *, double>> elements;
    std::optional<Register> written;
    Numbers result;
  };
  struct Visited {
    Index instruction;
    Cycles start, complete;
    std::vector<int64_t> iterations, extents;
  };
  void give(const Effect &effect) {
    for (auto [element, value] : effect.elements)
      *element = value;
    if (effect.written)
      at(*effect.written) = effect.result;
  }

  Effect execute(Index number) {
    Effect made;
    const Instruction &is = kernel.program.instructions[number];
    const Opcode &opcode = machine.opcodes[is.opcode];
    const OpcodeRole &role = opcode.role;
    ++counts[role.does];
    std::vector<Numbers> a;
    for (const Register &reg : is.reads)
      a.push_back(at(reg));
    if (takesAddress(opcode)) {
      const Numbers &pointer = a.at(argumentsOf(role.does));
      const int64_t offset = addressOf(is.memory.front()) - int64_t(pointer.empty() ? 0 : pointer.front());
      if (!offsets.try_emplace(number, offset).second && offsets[number] != offset)
        fail(fmt::format("an address register is wrong at instruction {}", number));
    }
    if (role.does == Role::Store || role.does == Role::Copy) {
      made.elements = stored(is, opcode, a);
      return made;
    }
    if (role.does == Role::Branch) {
      if (a[0].at(0) - a[1].at(0) != double(extents.back() - 1 - iterations.back()))
        fail("a counter of a loop is wrong");
      return made;
    }
    if (role.does == Role::None) {
      fail("an opcode without a role");
      return made;
    }
    made.written = is.writes.at(0), made.result = resultOf(is, role, a);
    return made;
  }

  /// What a store or a copy writes to memory.
  std::vector<std::pair<double *, double>> stored(const Instruction &is, const Opcode &opcode,
                                                  const std::vector<Numbers> &a) {
    std::vector<double> moved;
    if (opcode.role.does == Role::Store)
      moved = a[0];
    for (int32_t o = 0; o < opcode.loads; ++o)
      for (double *element : elements(is.memory[o]))
        moved.push_back(*element);
    std::vector<std::pair<double *, double>> made;
    for (size_t o = opcode.loads; o < is.memory.size(); ++o)
      for (double *element : elements(is.memory[o]))
        if (made.size() < moved.size())
          made.push_back({element, moved[made.size()]});
        else
          fail("a store is wider than what it stores");
    if (opcode.role.does == Role::Copy && made.size() != moved.size())
      fail("a copy loads other than it stores");
    return made;
  }

  Numbers resultOf(const Instruction &is, const OpcodeRole &role, const std::vector<Numbers> &a) {
    const size_t width = role.isTile() ? size_t(role.m) * role.n : size_t(role.lanes);
    Numbers result(width, 0);
    switch (role.does) {
    case Role::Load:
    case Role::Broadcast: {
      size_t next = 0;
      for (const MemoryOperand &operand : is.memory)
        for (double *element : elements(operand))
          if (next < width)
            result[next++] = *element;
          else
            fail("a load is wider than its register");
      if (role.does == Role::Broadcast)
        result.assign(width, result[0]);
      return result;
    }
    case Role::Constant:
      return Numbers(width, double(is.immediates.at(0)));
    case Role::Move:
    case Role::Preload:
      return a[0];
    case Role::MultiplyAdd:
      return multiplyAdd(role, a[0], a[1], a[2]);
    case Role::ReduceAdd: {
      double sum = 0;
      for (double x : a[0])
        sum += x;
      return Numbers(width, sum);
    }
    case Role::ReduceMax:
      return Numbers(width, *std::max_element(a[0].begin(), a[0].end()));
    case Role::AddImmediate:
      return {a[0].at(0) + double(is.immediates.at(0))};
    default:
      for (size_t i = 0; i < width; ++i)
        result[i] = point(role.does, i < a[0].size() ? a[0][i] : NAN, a.size() > 1 && i < a[1].size() ? a[1][i] : NAN);
      return result;
    }
  }

  /// Of one element.
  double point(Role role, double x, double y) {
    switch (role) {
    case Role::Add:
      return x + y;
    case Role::Subtract:
      return x - y;
    case Role::Multiply:
      return x * y;
    case Role::Divide:
      return x / y;
    case Role::Max:
      return std::max(x, y);
    case Role::Min:
      return std::min(x, y);
    case Role::Greater:
      return x > y ? 1.0 : 0.0;
    case Role::Equal:
      return x == y ? 1.0 : 0.0;
    case Role::Exp:
      return std::exp(x);
    case Role::Log:
      return std::log(x);
    case Role::SquareRoot:
      return std::sqrt(x);
    case Role::Tanh:
      return std::tanh(x);
    case Role::Erf:
      return std::erf(x);
    default:
      fail("an opcode without a role");
      return NAN;
    }
  }

  Numbers multiplyAdd(const OpcodeRole &role, const Numbers &a, const Numbers &b, const Numbers &c) {
    Numbers result = c;
    if (!role.isTile()) {
      for (size_t i = 0; i < result.size(); ++i)
        result[i] += a.at(i) * b.at(i);
      return result;
    }
    for (int32_t i = 0; i < role.m; ++i)
      for (int32_t j = 0; j < role.n; ++j)
        for (int32_t k = 0; k < role.k; ++k)
          result.at(i * role.n + j) += a.at(i * role.k + k) * b.at(k * role.n + j);
    return result;
  }

  const MappedKernel &kernel;
  const Microarchitecture &machine;
  std::map<std::pair<Index, Index>, Numbers> registers;
  std::vector<int64_t> iterations, extents;
  InstructionEngine *timed = nullptr; ///< says when, instead of executing
  std::vector<Visited> visits;
  std::map<Index, int64_t> offsets; ///< by instruction: address without what its register holds
};

} // namespace accord::microarchitecture
