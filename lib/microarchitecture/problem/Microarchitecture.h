// A core at the level of instructions, as plain data: stages, functional units, registers, memories, caches. What each
// of them does to the time of an instruction stands in docs/microarchitecture.md.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accord::microarchitecture {

using Index = int32_t;
inline constexpr Index kNone = -1;
using Cycles = int64_t;

/// A number of cycles that may depend on the instruction: constants, its immediates, the bytes that it moves, and
/// + - * / (rounded up), min, max. In postfix order, so that it is evaluated without a tree.
struct CycleExpression {
  enum class Kind : uint8_t { Constant, Immediate, Bytes, Add, Subtract, Multiply, DivideUp, Min, Max };
  struct Term {
    Kind kind = Kind::Constant;
    int64_t value = 0; ///< of a constant; of an immediate: which
    bool operator==(const Term &) const = default;
  };
  static constexpr size_t kMaxDepth = 16; ///< numbers that wait for an operator
  std::vector<Term> terms;                ///< empty: 0 cycles
  std::string text;                       ///< as written
  bool operator==(const CycleExpression &other) const { return terms == other.terms; }
};

/// What an opcode computes, for the mapping of operations to instructions; a machine says it with `does = …`. The order
/// of registers read is that of the arguments.
enum class Role : uint8_t {
  None,         ///< nothing that a kernel needs
  Load,         ///< memory to a register
  Broadcast,    ///< one element of memory to all lanes
  Store,        ///< a register to memory
  Copy,         ///< memory to memory
  Constant,     ///< an immediate to all lanes
  Move,         ///< a
  Preload,      ///< a, to where a product takes its second operand from
  Add,          ///< a + b
  Subtract,     ///< a - b
  Multiply,     ///< a * b
  MultiplyAdd,  ///< a * b + c
  Divide,       ///< a / b
  Max,          ///< max(a, b)
  Min,          ///< min(a, b)
  Greater,      ///< 1 where a > b, else 0
  Equal,        ///< 1 where a = b, else 0
  Exp,          ///< e^a
  Log,          ///< natural logarithm
  SquareRoot,   ///< of a
  Tanh,         ///< of a
  Erf,          ///< error function of a
  ReduceAdd,    ///< the sum of all lanes of a, in all lanes
  ReduceMax,    ///< the maximum of all lanes of a, in all lanes
  AddImmediate, ///< a + immediate: steps of counters and addresses
  Branch,       ///< back to the begin of a loop where a is not b
};
inline constexpr size_t kRoles = size_t(Role::Branch) + 1;
const char *name(Role); ///< "none", "load", "multiply_add", "square_root", …
std::optional<Role> roleNamed(std::string_view name);
/// Registers that an opcode of this role reads at least, besides those that it takes addresses from.
int32_t argumentsOf(Role);

/// `does = multiply_add, lanes = 8` or `does = multiply_add, tile = [16, 16, 16]`.
struct OpcodeRole {
  Role does = Role::None;
  int32_t lanes = 1;
  /// Of a product of tiles: m x k times k x n, added to m x n. Of loads, stores and preloads: m rows of n elements;
  /// opcodes with m memory operands take the rows from m places, those with one from one stretch of m * n elements.
  /// Copies have as many loads as stores.
  /// 0: no tile.
  int32_t m = 0, n = 0, k = 0;
  bool isTile() const { return m > 0; }
  bool operator==(const OpcodeRole &) const = default;
};

/// What an instruction word does. Operands are named by kind, in order: registers read, registers written, memory
/// operands, immediates.
struct Opcode {
  std::string name;
  int32_t reads = 0, writes = 0, immediates = 0;
  int32_t loads = 0, stores = 0; ///< memory operands, loads first
  /// Whether fetch waits until it is complete, because it decides where the program goes on.
  bool redirects = false;
  SourceLocation location;
  OpcodeRole role = {};
};

/// Fetches `width` instructions a cycle; each holds one entry of the buffer from its fetch until it leaves for the
/// first stage.
struct Fetch {
  std::string name;
  int32_t width = 1, buffer = 1;
  Cycles latency = 1;
  Index to = kNone; ///< stage
  SourceLocation location;
};

/// Holds up to `capacity` instructions, each for `latency` cycles or until the next one takes it; `width` enter a
/// cycle; they leave in order.
struct Stage {
  std::string name;
  int32_t capacity = 1, width = 1;
  CycleExpression latency;
  std::vector<Index> to;    ///< stages behind this one
  std::vector<Index> units; ///< functional units contained: then it is an execute stage, and `to` is empty
  SourceLocation location;
};

/// What a unit does with one opcode.
struct UnitOperation {
  Index opcode = kNone;
  CycleExpression latency;  ///< from start to result; of memory operations: before the first request
  CycleExpression interval; ///< until the same instance may start the next one; at least 1
  SourceLocation location;
};

struct Unit {
  std::string name;
  int32_t count = 1;   ///< instances
  int32_t entries = 1; ///< instructions in an instance at once, from entry until the next may start
  std::vector<UnitOperation> operations;
  std::vector<Index> reads, writes;       ///< register files
  std::vector<Index> loadsFrom, storesTo; ///< memories
  SourceLocation location;
};

struct RegisterFile {
  std::string name;
  int32_t count = 0;
  int32_t bits = 0;
  int32_t readPorts = 0, writePorts = 0; ///< a cycle; 0: enough for all
  bool renamed = false;                  ///< writes wait neither for readers nor for writers before them
  SourceLocation location;
  /// Registers count what is under way: writes wait for nothing, and reads for all writers before them.
  bool counts = false;
};

enum class Replacement : uint8_t { Lru, Fifo, TreePlru };

/// A store of bytes with ports and banks; with `cache`, a set-associative cache in front of another memory.
struct Storage {
  std::string name;
  int64_t begin = 0, end = 0;               ///< addresses [begin, end) in bytes; of a cache: those of what is behind it
  int32_t portBytes = 4;                    ///< a beat moves so much at most, inside of one aligned piece of this size
  int32_t ports = 1;                        ///< beats a cycle
  int32_t banks = 1;                        ///< one beat a cycle each; piece p is in bank p mod banks
  int32_t requests = 1;                     ///< under way at once
  Cycles readLatency = 1, writeLatency = 1; ///< from the beat to its data
  struct Rows {
    int64_t bytes = 0; ///< 0: none
    Cycles miss = 0;   ///< that a bank needs before a beat of another row than its last
  } rows;
  struct Cache {
    int32_t sets = 1, ways = 1;
    int32_t lineBytes = 64;
    Replacement replacement = Replacement::Lru;
    bool writeBack = true, allocatesOnWrite = true, criticalWordFirst = false;
    Index behind = kNone; ///< storage
  };
  std::optional<Cache> cache;
  SourceLocation location;
};

struct Microarchitecture {
  std::string name;
  int32_t window = 1; ///< instructions between the entry of a unit's queue and retirement, in order
  Fetch fetch;
  std::vector<Opcode> opcodes;
  std::vector<Stage> stages;
  std::vector<Unit> units;
  std::vector<RegisterFile> registers;
  std::vector<Storage> storages;
  SourceLocation location;
};

/// Floating-point operations a cycle at most, by the roles of opcodes: of each unit the opcode that does most, once in
/// its interval with the extents of its tile as immediates, on all instances; a multiply-accumulate is 2.
double flopsPerCycle(const Microarchitecture &machine);

/// All that is wrong with a machine, each at its place: capacities that are not positive, stages in a circle or out of
/// reach, opcodes that no reachable unit has, register files and memories that do not exist, caches in a circle or with
/// sets or lines that are no powers of two, a tree of PLRU whose ways are no power of two. Empty: it is well formed.
Errors check(const Microarchitecture &machine);

} // namespace accord::microarchitecture
