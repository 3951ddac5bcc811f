#include "lib/microarchitecture/mapping/LowerKernel.h"
#include "lib/microarchitecture/mapping/OrderMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kAddressBits = 32;

std::string text(const OpcodeRole &role) {
  std::string is = name(role.does);
  if (role.isTile())
    return role.k > 0 ? fmt::format("{} of {} x {} x {}", is, role.m, role.n, role.k)
                      : fmt::format("{} of {} x {}", is, role.m, role.n);
  return role.lanes > 1 ? fmt::format("{} with {} lanes", is, role.lanes) : is;
}

class Lowering {
public:
  Lowering(const LoopKernel &kernel, const Microarchitecture &machine, const EmitOptions &options)
      : machine(machine), options(options) {
    out.kernel = kernel;
  }

  Result<LoweredKernel> run() {
    everyBody([&](KernelBody &body) { products(body); });
    everyBody([&](KernelBody &body) { constants(body); });
    everyBody([&](KernelBody &body) { opcodes(body); });
    if (!failed)
      orderMemory(out.kernel, machine.window,
                  [&](const KernelStep &step) { return hasTokens(machine.opcodes[opcodeOf(machine, step.role)]); });
    if (!failed)
      chooseStorages();
    if (!failed)
      place();
    if (!failed)
      addresses();
    if (!failed)
      tokens();
    if (!failed && options.loopControl)
      control();
    if (failed)
      return std::move(*failed);
    return std::move(out);
  }

private:
  template <class F> void everyBody(F of) {
    of(out.kernel.body);
    for (KernelLoop &loop : out.kernel.loops)
      of(loop.body);
  }
  void fail(const std::string &message, const SourceLocation &at = {}) {
    if (!failed)
      failed =
          Error{Code::NotMapped, fmt::format("'{}': {}", out.kernel.name, message), at.line ? at : machine.location};
  }
  Index newValue(int64_t bits) {
    out.kernel.valueBits.push_back(bits);
    return Index(out.kernel.valueBits.size()) - 1;
  }

  /// a * b + c as two steps where the machine has no step for both.
  void products(KernelBody &body) {
    KernelBody made;
    for (KernelStep &step : body) {
      if (step.role.does != Role::MultiplyAdd || step.role.isTile() || opcodeOf(machine, step.role) != kNone) {
        made.push_back(std::move(step));
        continue;
      }
      KernelStep multiply = step, add = step;
      multiply.role.does = Role::Multiply, add.role.does = Role::Add;
      multiply.result = newValue(out.kernel.valueBits[step.result]);
      multiply.arguments.pop_back();
      add.arguments = {multiply.result, step.arguments[2]};
      made.push_back(std::move(multiply)), made.push_back(std::move(add));
    }
    body = std::move(made);
  }

  /// Constants that are not immediates are loaded.
  void constants(KernelBody &body) {
    for (KernelStep &step : body) {
      if (step.role.does != Role::Constant)
        continue;
      const bool isWhole = std::floor(step.constant) == step.constant && std::abs(step.constant) < 0x1p31;
      const Index opcode = opcodeOf(machine, step.role);
      const int64_t first = step.immediate;
      if (isWhole && first == 0 && opcode != kNone && machine.opcodes[opcode].immediates > 0) {
        step.immediate = int64_t(step.constant);
        continue;
      }
      int64_t columns = 1;
      if (step.role.isTile())
        step.role.does = Role::Load, columns = step.role.n;
      else if (first > 0)
        step.role.does = Role::Load, columns = first;
      else if (OpcodeRole broadcast = {Role::Broadcast, step.role.lanes}; opcodeOf(machine, broadcast) != kNone)
        step.role = broadcast;
      else
        step.role.does = Role::Load, columns = step.role.lanes;
      step.access = {};
      step.access.tensor = constantTensor();
      step.access.columns = columns, step.access.rows = std::max(step.role.m, 1);
      step.access.offset = offsetOf(step.constant, columns);
    }
  }
  Index constantTensor() {
    if (out.constantTensor == kNone) {
      int32_t bytes = 4;
      for (const KernelTensor &tensor : out.kernel.tensors)
        bytes = std::max(bytes, tensor.bytes);
      out.kernel.tensors.push_back({"constants", 0, bytes});
      out.constantTensor = Index(out.kernel.tensors.size()) - 1;
    }
    return out.constantTensor;
  }
  int64_t offsetOf(double constant, int64_t columns) {
    auto [at, isNew] = offsets.try_emplace({constant, columns}, int64_t(out.constants.size()));
    if (isNew)
      out.constants.insert(out.constants.end(), columns, constant);
    out.kernel.tensors[out.constantTensor].elements = int64_t(out.constants.size());
    return at->second;
  }

  void opcodes(KernelBody &body) {
    for (const KernelStep &step : body) {
      if (step.loop != kNone || step.role.does == Role::None)
        continue;
      const Index found = opcodeOf(machine, step.role);
      if (found == kNone)
        return fail(fmt::format("'{}' has no opcode for {}", machine.name, text(step.role)));
      const Opcode &opcode = machine.opcodes[found];
      const bool copies = step.role.does == Role::Copy;
      const bool loads = isLoad(step) || copies, stores = step.role.does == Role::Store || copies;
      const int64_t rows = std::max<int64_t>(step.role.m, 1);
      auto isInRows = [](const KernelAccess &access) { return access.rows > 1 && access.rowStride != access.columns; };
      const bool inRows = isInRows(step.access) || isInRows(step.target);
      auto fits = [&](int32_t operands, bool wanted) {
        return wanted ? operands == rows || (operands == 1 && !inRows) : operands == 0;
      };
      const int64_t tokens = hasTokens(opcode), registers = int64_t(step.arguments.size()) + tokens;
      const int64_t results = int64_t(step.result != kNone) + tokens;
      if (!fits(opcode.loads, loads) || !fits(opcode.stores, stores))
        fail(fmt::format("opcode '{}' has {} loads and {} stores, but {} rows are needed", opcode.name, opcode.loads,
                         opcode.stores, step.access.rows),
             opcode.location);
      else if (opcode.writes != results ||
               (opcode.reads != registers && !(opcode.reads == registers + 1 && takesAddress(opcode))))
        fail(fmt::format("opcode '{}' reads {} and writes {} registers, but {} reads {} and writes {}", opcode.name,
                         opcode.reads, opcode.writes, name(step.role.does), registers, results),
             opcode.location);
    }
  }
  static bool isLoad(const KernelStep &step) {
    return step.role.does == Role::Load || step.role.does == Role::Broadcast;
  }

  bool isCopied(Index tensor) const { return copied[tensor]; }

  /// Tensors that are no buffers: those that are copied are in one storage, all others in one.
  void chooseStorages() {
    copied.assign(out.kernel.tensors.size(), 0);
    everyBody([&](const KernelBody &body) {
      for (const KernelStep &step : body)
        if (step.target.tensor != kNone)
          copied[step.access.tensor] = copied[step.target.tensor] = 1, hasCopies = true;
    });
    for (Index t = 0; t < Index(copied.size()); ++t) // what lies within another tensor is where that is
      copied[whole(t)] |= copied[t];
    for (Index t = 0; t < Index(copied.size()); ++t)
      copied[t] = copied[whole(t)];
    for (const KernelTensor &tensor : out.kernel.tensors)
      out.storages.push_back(tensor.storage);
    for (bool copies : {false, true}) {
      std::vector<Index> of;
      for (Index t = 0; t < Index(out.storages.size()); ++t)
        if (out.storages[t] == kNone && (copied[t] != 0) == copies)
          of.push_back(t);
      const Index chosen = of.empty() ? kNone : options.storage != kNone ? options.storage : storageOf(of, copies);
      for (Index t : of)
        out.storages[t] = chosen;
      if (!of.empty())
        out.storage = chosen;
    }
  }
  /// The first, or the largest, storage that all loads, stores and copies of these tensors reach.
  Index storageOf(const std::vector<Index> &tensors, bool largest) {
    std::vector<char> all(machine.storages.size(), 1);
    auto reach = [&](const KernelAccess &access, Index opcode, bool isLoad) {
      if (!llvm::is_contained(tensors, access.tensor))
        return;
      std::vector<char> reached(all.size(), 0);
      for (const Unit &unit : machine.units)
        if (llvm::any_of(unit.operations, [&](const UnitOperation &o) { return o.opcode == opcode; }))
          for (Index storage : isLoad ? unit.loadsFrom : unit.storesTo)
            reached[storage] = 1;
      for (size_t s = 0; s < all.size(); ++s)
        all[s] &= reached[s];
    };
    everyBody([&](const KernelBody &body) {
      for (const KernelStep &step : body)
        if (step.access.tensor != kNone) {
          reach(step.access, opcodeOf(machine, step.role), step.role.does != Role::Store);
          reach(step.target, opcodeOf(machine, step.role), false);
        }
    });
    Index best = kNone;
    for (Index s = 0; s < Index(all.size()); ++s)
      if (all[s] && (best == kNone || (largest && bytesOf(s) >= bytesOf(best))))
        best = s;
    if (best == kNone)
      fail(fmt::format("no memory of '{}' is reached by all loads and stores", machine.name));
    return best;
  }
  const Storage &lastBehind(Index storage) const {
    const Storage *last = &machine.storages[storage];
    while (last->cache)
      last = &machine.storages[last->cache->behind];
    return *last;
  }
  int64_t bytesOf(Index storage) const { return lastBehind(storage).end - lastBehind(storage).begin; }

  /// One tensor behind the other in each storage: buffers at multiples of its port, others of its lines and 64 too.
  void place() {
    std::map<const Storage *, __int128> ends;
    out.begin.assign(out.kernel.tensors.size(), 0);
    for (Index t = 0; t < Index(out.begin.size()) && !failed; ++t) {
      const KernelTensor &tensor = out.kernel.tensors[t];
      if (tensor.within != kNone) {
        out.begin[t] = out.begin[tensor.within] + tensor.offset * tensor.bytes;
        continue;
      }
      int64_t alignment = tensor.storage == kNone ? 64 : 1;
      const Storage *last = &machine.storages[out.storages[t]];
      for (;; last = &machine.storages[last->cache->behind]) {
        alignment = std::max<int64_t>({alignment, last->portBytes, last->cache ? last->cache->lineBytes : 1});
        if (!last->cache)
          break;
      }
      __int128 &at = ends.try_emplace(last, last->begin).first->second;
      at = (at + alignment - 1) / alignment * alignment;
      out.begin[t] = int64_t(at);
      at += __int128(tensor.elements) * tensor.bytes;
      if (at > last->end)
        noRoom(*last, tensor, int64_t(std::min<__int128>(at, INT64_MAX)));
    }
  }
  void noRoom(const Storage &in, const KernelTensor &last, int64_t end) {
    if (last.storage == kNone)
      return fail(fmt::format("'{}' does not hold its tensors: '{}' would end at {}, behind {}", in.name, last.name,
                              end, in.end),
                  in.location);
    __int128 all = 0;
    std::string sizes;
    for (Index t = 0; t < Index(out.storages.size()); ++t)
      if (&lastBehind(out.storages[t]) == &in) {
        const KernelTensor &tensor = out.kernel.tensors[t];
        all += __int128(tensor.elements) * tensor.bytes;
        sizes += fmt::format("{}'{}' {}", sizes.empty() ? "" : ", ", tensor.name,
                             int64_t(std::min<__int128>(__int128(tensor.elements) * tensor.bytes, INT64_MAX)));
      }
    const int64_t room = in.end - in.begin;
    fail(fmt::format("the {} bytes of '{}' do not hold the pieces of its tensors ({} bytes): {} more are needed, or "
                     "pieces of {:.3g} of their elements",
                     room, in.name, sizes, int64_t(std::min<__int128>(std::max<__int128>(all - room, 1), INT64_MAX)),
                     double(room) / double(std::max<__int128>(all, 1))),
         in.location);
  }

  // ---- tokens

  Index whole(Index tensor) const {
    while (out.kernel.tensors[tensor].within != kNone)
      tensor = out.kernel.tensors[tensor].within;
    return tensor;
  }
  /// By tensor, the first of those that have tokens in common: parts of one; buffers between which a tensor in memory
  /// passes what the kernel computed.
  std::vector<Index> tokenGroups() {
    const Index count = Index(out.kernel.tensors.size());
    std::vector<Index> group;
    for (Index t = 0; t < count; ++t)
      group.push_back(whole(t));
    std::vector<std::array<std::set<Index>, 2>> reached(count); // buffers by tensor: copied from it, to it
    everyBody([&](const KernelBody &body) {
      for (const KernelStep &step : body)
        if (step.target.tensor != kNone) {
          const bool isOut = out.kernel.tensors[step.target.tensor].storage == kNone;
          const Index memory = whole(isOut ? step.target.tensor : step.access.tensor);
          reached[memory][isOut].insert(isOut ? step.access.tensor : step.target.tensor);
        }
    });
    for (const auto &[in, back] : reached)
      for (Index buffer : in)
        for (Index other : back) {
          const Index from = std::max(group[buffer], group[other]), to = std::min(group[buffer], group[other]);
          std::replace(group.begin(), group.end(), from, to);
        }
    return group;
  }
  /// What reaches a tensor awaits all that reached it with the other intent before.
  void tokens() {
    enum : int { Full, Free };
    const std::vector<Index> group = tokenGroups();
    std::vector<std::array<Index, 2>> of(out.kernel.tensors.size(), {kNone, kNone});
    auto token = [&](Index tensor, int which) {
      tensor = group[tensor];
      if (of[tensor][which] == kNone)
        of[tensor][which] = newValue(kTokenBits);
      return of[tensor][which];
    };
    everyBody([&](KernelBody &body) {
      for (KernelStep &step : body) {
        if (step.access.tensor == kNone)
          continue;
        const Opcode &opcode = machine.opcodes[opcodeOf(machine, step.role)];
        if (!hasTokens(opcode)) {
          if (hasCopies && isCopied(step.access.tensor) && machine.window > 1)
            fail(fmt::format("opcode '{}' neither reads nor writes a register that counts, so that nothing says when "
                             "what is copied is there",
                             opcode.name),
                 opcode.location);
          continue;
        }
        const bool isInto = step.role.does == Role::Store ||
                            (step.target.tensor != kNone && out.kernel.tensors[step.target.tensor].storage != kNone);
        const Index buffer = isInto && step.target.tensor != kNone ? step.target.tensor : step.access.tensor;
        step.arguments.push_back(token(buffer, isInto ? Free : Full));
        step.signals = token(buffer, isInto ? Full : Free);
      }
    });
  }

  // ---- addresses in registers

  void addresses() {
    out.pointer.assign(out.kernel.tensors.size(), kNone);
    everyBody([&](KernelBody &body) {
      for (KernelStep &step : body) {
        if (step.access.tensor == kNone || !takesAddress(machine.opcodes[opcodeOf(machine, step.role)]))
          continue;
        Index &pointer = out.pointer[step.access.tensor];
        if (pointer == kNone)
          pointer = newValue(kAddressBits);
        step.arguments.push_back(pointer);
      }
    });
    KernelBody head;
    std::map<std::pair<Index, size_t>, KernelBody> first; ///< by loop (kNone: none) and step: what stands before it
    for (Index t = 0; t < Index(out.pointer.size()) && !failed; ++t)
      if (out.pointer[t] != kNone) {
        const KernelStep begin = known(out.pointer[t], out.begin[t]);
        const auto [loop, step] = begin.role.does == Role::None ? std::pair(kNone, size_t(0)) : homeOf(t);
        first[{loop, step}].push_back(begin);
        movePointer(t, loop == kNone ? out.kernel.body : out.kernel.loops[loop].body, head);
      }
    for (auto at = first.rbegin(); at != first.rend(); ++at) { // from the back, so that places of others stay
      KernelBody &body = at->first.first == kNone ? out.kernel.body : out.kernel.loops[at->first.first].body;
      body.insert(body.begin() + int64_t(at->first.second), at->second.begin(), at->second.end());
    }
    out.kernel.body.insert(out.kernel.body.begin(), head.begin(), head.end());
  }
  bool uses(const KernelStep &step, Index t) const {
    if (step.loop == kNone)
      return step.access.tensor == t;
    return llvm::any_of(out.kernel.loops[step.loop].body, [&](const KernelStep &inner) { return uses(inner, t); });
  }
  /// Where the pointer of t is set, as a loop (kNone: none) and a step of its body: before the first step that uses
  /// it, so that it is in no register before; inside of a loop that does not move it if another loop there has no use
  /// for it.
  std::pair<Index, size_t> homeOf(Index t) const {
    Index home = kNone;
    for (;;) {
      const KernelBody &body = home == kNone ? out.kernel.body : out.kernel.loops[home].body;
      auto isUse = [&](const KernelStep &step) { return uses(step, t); };
      const auto at = llvm::find_if(body, isUse);
      const std::pair found(home, size_t(at - body.begin()));
      if (at->loop == kNone || llvm::count_if(body, isUse) != 1)
        return found;
      const KernelBody &inside = out.kernel.loops[at->loop].body;
      bool used = false;
      const auto stride = strideIn(t, at->loop, inside, used);
      if (stride != 0 || llvm::all_of(inside, [&](const KernelStep &s) { return s.loop == kNone || uses(s, t); }))
        return found;
      home = at->loop;
    }
  }
  /// An address or a count: an immediate, or there before the program begins.
  KernelStep known(Index value, int64_t number) {
    KernelStep step;
    step.result = value, step.immediate = number;
    const Index opcode = opcodeOf(machine, {Role::Constant});
    if (opcode != kNone && machine.opcodes[opcode].immediates > 0)
      step.role = {Role::Constant};
    return step;
  }

  /// Elements that tensor t moves by in one iteration of a loop; nothing where two accesses disagree.
  std::optional<int64_t> strideIn(Index t, Index loop, const KernelBody &body, bool &used) const {
    std::optional<int64_t> found;
    for (const KernelStep &step : body) {
      std::optional<int64_t> here;
      bool isUsed = false;
      if (step.loop != kNone) {
        here = strideIn(t, loop, out.kernel.loops[step.loop].body, isUsed);
        if (isUsed && !here)
          return used = true, std::nullopt;
      } else if (step.access.tensor == t && takesAddress(machine.opcodes[opcodeOf(machine, step.role)])) {
        isUsed = true, here = 0;
        for (auto [of, stride] : step.access.strides)
          *here += of == loop ? stride : 0;
      }
      if (isUsed && used && here != found)
        return std::nullopt;
      if (isUsed)
        used = true, found = here;
    }
    return found;
  }
  /// What t moves in one execution of this body, in bytes; steps that move its pointer are added to the loops inside.
  int64_t movePointer(Index t, const KernelBody &body, KernelBody &head) {
    int64_t moved = 0;
    for (const KernelStep &step : body) {
      if (step.loop == kNone)
        continue;
      bool used = false;
      const auto stride = strideIn(t, step.loop, out.kernel.loops[step.loop].body, used);
      if (!used)
        continue;
      if (!stride)
        return fail(fmt::format("'{}' is reached in several ways, but has one register for its address",
                                out.kernel.tensors[t].name)),
               0;
      const int64_t wanted = *stride * out.kernel.tensors[t].bytes;
      const int64_t inside = movePointer(t, out.kernel.loops[step.loop].body, head);
      if (wanted != inside)
        move(out.pointer[t], wanted - inside, out.kernel.loops[step.loop].body, head);
      moved += wanted * out.kernel.loops[step.loop].count;
    }
    return moved;
  }
  void move(Index pointer, int64_t bytes, KernelBody &body, KernelBody &head) {
    KernelStep step;
    step.result = pointer, step.arguments = {pointer};
    if (opcodeOf(machine, {Role::AddImmediate}) != kNone) {
      step.role = {Role::AddImmediate}, step.immediate = bytes;
    } else if (opcodeOf(machine, {Role::Add}) != kNone) {
      auto [at, isNew] = steps.try_emplace(bytes, kNone);
      if (isNew) {
        at->second = newValue(kAddressBits);
        head.push_back(known(at->second, bytes));
      }
      step.role = {Role::Add}, step.arguments.push_back(at->second);
    } else {
      return fail(fmt::format("'{}' has no opcode for add_immediate or add, which move addresses", machine.name));
    }
    body.push_back(std::move(step));
  }

  // ---- counters of loops

  void control() {
    const OpcodeRole constant{Role::Constant}, add{Role::AddImmediate}, branch{Role::Branch};
    for (const OpcodeRole &role : {constant, add, branch})
      if (opcodeOf(machine, role) == kNone)
        return;
    const Index zero = newValue(kAddressBits);
    bool used = false;
    everyBody([&](KernelBody &body) {
      KernelBody made;
      for (KernelStep &step : body) {
        if (step.loop != kNone) {
          used = true;
          const Index counter = newValue(kAddressBits);
          KernelLoop &loop = out.kernel.loops[step.loop];
          made.push_back(known(counter, loop.count));
          counters.push_back({step.loop, counter});
        }
        made.push_back(std::move(step));
      }
      body = std::move(made);
    });
    for (auto [loop, counter] : counters) {
      KernelStep count, back;
      count.role = add, count.result = counter, count.arguments = {counter}, count.immediate = -1;
      back.role = branch, back.arguments = {counter, zero};
      out.kernel.loops[loop].body.push_back(std::move(count));
      out.kernel.loops[loop].body.push_back(std::move(back));
    }
    if (used)
      out.kernel.body.insert(out.kernel.body.begin(), known(zero, 0));
  }

  const Microarchitecture &machine;
  const EmitOptions &options;
  LoweredKernel out;
  std::map<std::pair<double, int64_t>, int64_t> offsets; ///< of constants
  std::map<int64_t, Index> steps;                        ///< values that addresses are moved by
  std::vector<std::pair<Index, Index>> counters;
  std::vector<char> copied; ///< by tensor: a copy reaches it
  bool hasCopies = false;
  std::optional<Error> failed;
};

} // namespace

bool hasTokens(const Opcode &opcode) {
  const int32_t results = opcode.role.does == Role::Store || opcode.role.does == Role::Copy ? 0 : 1;
  return opcode.loads + opcode.stores > 0 && opcode.writes == results + 1;
}

bool takesAddress(const Opcode &opcode) {
  return opcode.loads + opcode.stores > 0 && opcode.role.does != Role::Copy &&
         opcode.reads == argumentsOf(opcode.role.does) + 1 + int32_t(hasTokens(opcode));
}

Index opcodeOf(const Microarchitecture &machine, const OpcodeRole &role) {
  for (Index o = 0; o < Index(machine.opcodes.size()); ++o)
    if (machine.opcodes[o].role == role)
      return o;
  return kNone;
}

int32_t lanesOf(const Microarchitecture &machine, Role role) {
  int32_t lanes = 0;
  for (const Opcode &opcode : machine.opcodes)
    if (opcode.role.does == role && !opcode.role.isTile())
      lanes = std::max(lanes, opcode.role.lanes);
  return lanes;
}

Result<LoweredKernel> lowerKernel(const LoopKernel &kernel, const Microarchitecture &machine,
                                  const EmitOptions &options) {
  return Lowering(kernel, machine, options).run();
}

} // namespace accord::microarchitecture
