// Machines that kernels are tried on: one product at a time, lanes, tiles.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"

namespace accord::microarchitecture {

struct KernelMachineOptions {
  bool addresses = true; ///< loads and stores take their address from a register
  bool control = true;   ///< opcodes for constants, steps and branches
  bool multiplyAdd = true;
  int32_t registers = 32;
  int32_t scalars = 16; ///< registers beside those of lanes
  int32_t lanes = 8;
  int32_t tile = 4;
  int64_t scratchpad = 4096; ///< bytes, of machines with one
  int32_t tokenCount = 24;   ///< registers that count, of these
  bool tokens = true;        ///< of these, their memory opcodes say when they are complete
  int32_t window = 8;
  Cycles writeLatency = 1; ///< of the memory in which tensors begin
  int32_t requests = 4;    ///< of that memory, where there is no scratchpad
};

class KernelMachine {
public:
  explicit KernelMachine(const KernelMachineOptions &options) : options(options) {
    machine.name = "test", machine.window = options.window;
    machine.fetch = {"fetch", 2, 4, 1, 0, {}};
    machine.stages.push_back({"decode", 2, 2, number(1), {1}, {}, {}});
    machine.stages.push_back({"execute", 4, 2, number(1), {}, {}, {}});
    Storage memory;
    memory.name = "memory", memory.begin = 4096, memory.end = int64_t(1) << 46, memory.portBytes = 32;
    memory.requests = options.requests, memory.readLatency = 3, memory.writeLatency = options.writeLatency;
    machine.storages.push_back(memory);
  }

  Microarchitecture scalar() {
    const Index r = file("r", options.registers, 32);
    const Index fu = unit("fu", r), mau = unit("mau", r);
    scalarOpcodes(fu, mau);
    return machine;
  }
  Microarchitecture vector() {
    const Index r = file("r", options.scalars, 32), v = file("v", options.registers, 32 * options.lanes);
    const Index fu = unit("fu", r), mau = unit("mau", r);
    scalarOpcodes(fu, mau);
    const Index vu = unit("vu", v), vmau = unit("vmau", v);
    machine.units[vmau].reads.push_back(r); // addresses
    arithmetic(vu, options.lanes, "v");
    memoryOpcodes(vmau, options.lanes, "v");
    opcode(vmau, "vbroadcast", {Role::Broadcast, options.lanes}, options.addresses, 1, 1, 0, 0);
    opcode(vu, "vreduce_add", {Role::ReduceAdd, options.lanes}, 1, 1, 0, 0, 0);
    opcode(vu, "vreduce_max", {Role::ReduceMax, options.lanes}, 1, 1, 0, 0, 0);
    return machine;
  }
  /// Buffers are registers: of tiles in a scratchpad, of weights in the array, of sums.
  Microarchitecture tiles() {
    const int32_t t = options.tile;
    const Index pad = file("pad", options.registers, 32 * t * t), weights = file("weights", 2, 32 * t * t);
    const Index sums = file("sums", options.registers, 32 * t * t + 1);
    const Index dma = unit("dma", pad), array = unit("array", pad);
    machine.units[dma].reads = {sums}, machine.units[dma].writes = {pad, sums};
    machine.units[array].reads = {pad, weights, sums}, machine.units[array].writes = {weights, sums};
    opcode(dma, "mvin", {Role::Load, 1, t, t, 0}, 0, 1, t, 0, 2);
    opcode(dma, "mvout", {Role::Store, 1, t, t, 0}, 1, 0, 0, t, 2);
    opcode(array, "preload", {Role::Preload, 1, t, t, 0}, 1, 1, 0, 0, 3);
    opcode(array, "compute", {Role::MultiplyAdd, 1, t, t, t}, 3, 1, 0, 0, 3);
    machine.storages[0].requests = 64;
    return machine;
  }

  /// A vector machine whose loads and stores reach a scratchpad; copies of stretches bring what they need.
  Microarchitecture stagedVector() {
    scratchpad("pad", 2);
    const Index r = file("r", std::max(options.scalars, 32), 32),
                v = options.lanes == 1 ? r : file("v", options.registers, 32 * options.lanes);
    tokens = options.tokens ? file("tokens", options.tokenCount, 1) : kNone;
    machine.registers.back().counts = options.tokens;
    const Index fu = unit("fu", r), vu = unit("vu", v), dma = unit("dma", r), mau = unit("mau", v);
    opcode(fu, "nop", {}, 0, 0, 0, 0, 0);
    if (options.control) {
      opcode(fu, "li", {Role::Constant}, 0, 1, 0, 0, 1);
      opcode(fu, "addi", {Role::AddImmediate}, 1, 1, 0, 0, 1);
      opcode(fu, "bne", {Role::Branch}, 2, 0, 0, 0, 1);
      machine.opcodes.back().redirects = true;
    }
    arithmetic(vu, options.lanes, "v");
    opcode(vu, "vreduce_add", {Role::ReduceAdd, options.lanes}, 1, 1, 0, 0, 0);
    opcode(vu, "vreduce_max", {Role::ReduceMax, options.lanes}, 1, 1, 0, 0, 0);
    machine.units[mau].reads.push_back(r); // addresses
    memoryUnit(mau, {1}, {1}), memoryUnit(dma, {0, 1}, {0, 1});
    memoryOpcodes(mau, options.lanes, "v");
    opcode(mau, "vbroadcast", {Role::Broadcast, options.lanes}, options.addresses, 1, 1, 0, 0);
    opcode(dma, "dma", {Role::Copy, 8 * options.lanes}, 0, 0, 1, 1, 1);
    queue({fu, vu}), queue({mau}), queue({dma});
    return machine;
  }
  /// As Gemmini: a scratchpad in 4 banks for operands, a memory of sums; tiles move by rows.
  Microarchitecture stagedTiles() {
    const int32_t t = options.tile;
    scratchpad("pad", 4), scratchpad("sums", 1);
    const Index operands = file("operands", options.registers, 32 * t * t), weights = file("weights", 2, 32 * t * t);
    const Index sums = file("accumulator", options.registers, 32 * t * t + 1);
    tokens = options.tokens ? file("tokens", options.tokenCount, 1) : kNone;
    machine.registers.back().counts = options.tokens;
    const Index array = unit("array", operands), in = unit("in", operands), out = unit("out", sums);
    const Index dma = unit("dma", sums), loader = unit("loader", sums);
    machine.units[array].reads = {operands, weights, sums}, machine.units[array].writes = {weights, sums};
    memoryUnit(in, {1}, {}), memoryUnit(out, {}, {2}), memoryUnit(loader, {2}, {});
    memoryUnit(dma, {0, 1, 2}, {0, 1, 2});
    opcode(in, "load", {Role::Load, 1, t, t, 0}, 0, 1, t, 0, 2);
    machine.units[loader].operations.push_back(machine.units[in].operations.back());
    opcode(out, "store", {Role::Store, 1, t, t, 0}, 1, 0, 0, t, 2);
    opcode(dma, "move", {Role::Copy, 1, t, 2 * t, 0}, 0, 0, t, t, 2);
    opcode(array, "preload", {Role::Preload, 1, t, t, 0}, 1, 1, 0, 0, 3);
    opcode(array, "compute", {Role::MultiplyAdd, 1, t, t, t}, 3, 1, 0, 0, 3);
    opcode(array, "zero", {Role::Constant, 1, t, t, 0}, 0, 1, 0, 0, 1);
    queue({array}), queue({in, loader}), queue({out}), queue({dma});
    return machine;
  }

private:
  static CycleExpression number(int64_t count) {
    return {{{CycleExpression::Kind::Constant, count}}, std::to_string(count)};
  }
  Index file(const char *name, int32_t count, int32_t bits) {
    machine.registers.push_back({name, count, bits, 0, 0, false, {}});
    return Index(machine.registers.size()) - 1;
  }
  Index unit(const char *name, Index file) {
    Unit made;
    made.name = name, made.entries = 2, made.reads = made.writes = {file}, made.loadsFrom = made.storesTo = {0};
    machine.units.push_back(made);
    machine.stages[1].units.push_back(Index(machine.units.size()) - 1);
    return machine.stages[1].units.back();
  }
  void scratchpad(const char *name, int32_t banks) {
    Storage made;
    made.name = name, made.end = options.scratchpad, made.portBytes = 16, made.banks = banks, made.requests = 32;
    machine.storages.push_back(made);
    machine.storages[0].requests = 64, machine.storages[0].readLatency = 40;
  }
  void memoryUnit(Index unit, std::vector<Index> loads, std::vector<Index> stores) {
    machine.units[unit].loadsFrom = std::move(loads), machine.units[unit].storesTo = std::move(stores);
    if (tokens != kNone)
      machine.units[unit].reads.push_back(tokens), machine.units[unit].writes.push_back(tokens);
  }
  /// Units with a queue of their own.
  void queue(std::vector<Index> units) {
    if (machine.stages.back().name != "queue")
      machine.stages.pop_back(), machine.stages[0].to.clear();
    machine.stages[0].to.push_back(Index(machine.stages.size()));
    machine.stages.push_back({"queue", 8, 2, number(1), {}, std::move(units), {}});
  }
  void opcode(Index unit, std::string name, OpcodeRole role, int32_t reads, int32_t writes, int32_t loads,
              int32_t stores, int32_t immediates) {
    if (tokens != kNone && loads + stores > 0)
      ++reads, ++writes;
    Opcode made;
    made.name = std::move(name), made.reads = reads, made.writes = writes, made.loads = loads, made.stores = stores;
    made.immediates = immediates, made.role = role;
    machine.opcodes.push_back(made);
    machine.units[unit].operations.push_back({Index(machine.opcodes.size()) - 1, number(2), number(1), {}});
  }
  void memoryOpcodes(Index unit, int32_t lanes, const std::string &prefix) {
    opcode(unit, prefix + "load", {Role::Load, lanes}, options.addresses, 1, 1, 0, 0);
    opcode(unit, prefix + "store", {Role::Store, lanes}, 1 + options.addresses, 0, 0, 1, 0);
  }
  void arithmetic(Index unit, int32_t lanes, const std::string &prefix) {
    for (size_t r = 0; r < kRoles; ++r) {
      const Role role = Role(r);
      if (role < Role::Add || role > Role::Erf || (role == Role::MultiplyAdd && !options.multiplyAdd))
        continue;
      opcode(unit, prefix + name(role), {role, lanes}, argumentsOf(role), 1, 0, 0, 0);
    }
  }
  void scalarOpcodes(Index fu, Index mau) {
    arithmetic(fu, 1, "");
    memoryOpcodes(mau, 1, "");
    if (!options.control)
      return;
    opcode(fu, "li", {Role::Constant}, 0, 1, 0, 0, 1);
    opcode(fu, "addi", {Role::AddImmediate}, 1, 1, 0, 0, 1);
    opcode(fu, "bne", {Role::Branch}, 2, 0, 0, 0, 1);
    machine.opcodes.back().redirects = true;
  }

  KernelMachineOptions options;
  Microarchitecture machine;
  Index tokens = kNone; ///< file
};

} // namespace accord::microarchitecture
