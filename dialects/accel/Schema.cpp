// The table itself. Adding a key: one line here; the front end, the verifier and the documentation
// follow.
#include "dialects/accel/Schema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace accord::accel {
namespace {

const Dimension kNumber{};
const Dimension kTime = Dimension::of(Base::Second);
const Dimension kCycles = Dimension::of(Base::Cycle);
const Dimension kBytes = Dimension::of(Base::Byte);
const Dimension kLength = Dimension::of(Base::Metre);
const Dimension kArea = kLength * kLength;
const Dimension kFrequency = kCycles / kTime;
const Dimension kBandwidth = kBytes / kTime;
const Dimension kBytesPerCycle = kBytes / kCycles;
const Dimension kRate = Dimension::of(Base::Flop) / kTime;
const Dimension kFlopPerCycle = Dimension::of(Base::Flop) / kCycles;
const Dimension kFlops = Dimension::of(Base::Flop);
const Dimension kEnergy = Dimension::of(Base::Joule);
const Dimension kPower = kEnergy / kTime;
const Dimension kMoney = Dimension::of(Base::Dollar);
const Dimension kMass = Dimension::of(Base::Gram);
const Dimension kTemperature = Dimension::of(Base::Kelvin);

std::vector<StringRef> words(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ' ');
  return {parts.begin(), parts.end()};
}

const std::vector<StringRef> kPrecisions = words("bf16 fp16 fp32 tf32 fp64 fp8 int8 int16");
const std::vector<StringRef> kDataflows = words("output_stationary weight_stationary input_stationary row_stationary");
/// Kinds of operations that lanes compute, as the dnn dialect names them.
const std::vector<StringRef> kLaneOperations =
    words("add sub mul div neg exp log sqrt pow scale relu relu_grad leaky_relu leaky_relu_grad elu elu_grad gelu "
          "gelu_grad silu silu_grad sigmoid sigmoid_grad tanh tanh_grad dropout dropout_grad rotary softmax "
          "softmax_grad layer_norm layer_norm_grad rms_norm rms_norm_grad batch_norm batch_norm_grad group_norm "
          "group_norm_grad max_pool max_pool_grad avg_pool avg_pool_grad cross_entropy cross_entropy_grad update");
const std::vector<StringRef> kTopologies = words("switch fully_connected ring mesh torus fat_tree bus");

/// Interfaces that are no memory's, as lib/catalog/interfaces.csv has them.
const std::vector<StringRef> kInterfaces = words("pcie3 pcie4 pcie5 serdes28 serdes56");

/// How collectives are carried out, as lib/machine/collectives names it.
const std::vector<StringRef> kAlgorithms =
    words("ring double_tree halving_doubling direct dimensions in_switch hierarchical");

const std::vector<StringRef> kReductions = words("endpoints in_switch");

constexpr bool kRequired = true;

KeySchema quantity(StringRef name, Better better, std::vector<Dimension> dimensions, Range range, StringRef doc,
                   bool required = false) {
  return {name, ValueKind::Quantity, std::move(dimensions), {}, required, range, 0, 0, doc, better};
}
KeySchema quantities(StringRef name, Better better, std::vector<Dimension> dimensions, std::vector<StringRef> members,
                     Range range, StringRef doc) {
  return {name, ValueKind::QuantityMap, std::move(dimensions), std::move(members), false, range, 0, 0, doc, better};
}
KeySchema integer(StringRef name, Better better, Range range, StringRef doc, bool required = false) {
  return {name, ValueKind::Integer, {}, {}, required, range, 0, 0, doc, better};
}
KeySchema shape(StringRef name, Better better, unsigned min, unsigned max, StringRef doc, bool required = false) {
  return {name, ValueKind::Shape, {}, {}, required, Range::Positive, min, max, doc, better};
}
KeySchema word(StringRef name, std::vector<StringRef> words, StringRef doc, bool required = false) {
  return {name, ValueKind::Word, {}, std::move(words), required, Range::Any, 0, 0, doc};
}
KeySchema wordSet(StringRef name, std::vector<StringRef> words, StringRef doc) {
  return {name, ValueKind::WordSet, {}, std::move(words), false, Range::Any, 0, 0, doc};
}
KeySchema plain(StringRef name, ValueKind kind, StringRef doc, bool required = false) {
  return {name, kind, {}, {}, required, Range::Any, 0, 0, doc};
}

BlockSchema extended(BlockSchema block, std::vector<KeySchema> more) {
  llvm::append_range(block.keys, more);
  return block;
}

/// How much a part of a microarchitecture holds at once.
KeySchema capacity(StringRef name, StringRef doc) {
  KeySchema key = integer(name, Better::More, Range::Positive, doc, kRequired);
  key.capacity = true;
  return key;
}
KeySchema cycles(StringRef name, StringRef doc, bool required = false) {
  KeySchema key = plain(name, ValueKind::Cycles, doc, required);
  key.better = Better::Less;
  return key;
}
/// Parts of these kinds.
KeySchema parts(StringRef name, StringRef kinds, StringRef doc, bool required = false) {
  return {name, ValueKind::References, {}, words(kinds), required, Range::Any, 0, 0, doc};
}
KeySchema part(StringRef name, StringRef kinds, StringRef doc, bool required = false) {
  KeySchema key = parts(name, kinds, doc, required);
  key.kind = ValueKind::Reference;
  return key;
}

/// A key whose word a design may choose.
KeySchema choosable(KeySchema key, BestWord best) {
  key.bestWord = best;
  return key;
}

BlockSchema memory(StringRef subtype, StringRef doc, std::vector<KeySchema> more) {
  return extended(
      {"memory",
       subtype,
       doc,
       {
           quantity("capacity", Better::More, {kBytes}, Range::Positive, "bytes it holds", kRequired),
           quantity("bandwidth", Better::More, {kBandwidth, kBytesPerCycle}, Range::Positive,
                    "bytes it moves, reads and writes together", kRequired),
           quantity("latency", Better::Less, {kTime, kCycles}, Range::NonNegative, "from request to first byte"),
           quantity("energy", Better::Less, {kEnergy / kBytes}, Range::NonNegative, "energy to move a byte"),
           choosable(
               plain("double_buffered", ValueKind::Boolean, "whether it fills one half while the other half is used"),
               BestWord::True),
           integer("queue", Better::More, Range::Positive, "requests in flight"),
           quantity("efficiency", Better::More, {kNumber}, Range::Fraction,
                    "share of the bandwidth that long transfers reach"),
       }},
      std::move(more));
}

BlockSchema core(StringRef subtype, StringRef doc, std::vector<KeySchema> more) {
  return extended(
      {"core",
       subtype,
       doc,
       {
           quantities("peak", Better::More, {kRate, kFlopPerCycle}, kPrecisions, Range::Positive,
                      "peak of all cores of this block together, by precision, as the data sheet prints it"),
           wordSet("types", kPrecisions, "precisions it computes in"),
           choosable(
               plain("reads", ValueKind::Reference, "the memory it reads, the nearest one of the path unless given"),
               BestWord::FarthestMemory),
           quantity("efficiency", Better::More, {kNumber}, Range::Fraction,
                    "share of the peak that well-shaped work reaches"),
           quantity("half_performance_work", Better::Less, {kFlops}, Range::NonNegative,
                    "work of one operation that reaches half of the efficiency"),
           choosable(word("mapping", {"split", "per_instance", "any"},
                          "whether all cores share one operation, each has one of its own, or that is decided "
                          "for each operation"),
                     BestWord::Any),
           plain("cost_model", ValueKind::String,
                 "name of the cost model, chosen by what the core states unless given"),
       }},
      std::move(more));
}

BlockSchema network(StringRef topology, StringRef doc, std::vector<KeySchema> more) {
  return extended(
      {"network",
       topology,
       doc,
       {
           plain("connects", ValueKind::References, "what it connects: devices of the server or servers of the cluster",
                 kRequired),
           word("topology", kTopologies, "how its links are laid out", kRequired),
           integer("endpoints", Better::Neither, Range::Positive,
                   "of each of its networks, where several networks make up all that it connects, dimension after "
                   "dimension in the order in which they are written"),
           quantity("bandwidth", Better::More, {kBandwidth}, Range::Positive, "of one endpoint in one direction",
                    kRequired),
           quantity("latency", Better::Less, {kTime}, Range::NonNegative, "of one message between neighbours"),
           quantity("energy", Better::Less, {kEnergy / kBytes}, Range::NonNegative,
                    "energy to move a byte over one link"),
           quantity("efficiency", Better::More, {kNumber}, Range::Fraction,
                    "share of the bandwidth that long messages reach"),
           quantities("bandwidth_by_peers", Better::More, {kBandwidth}, {}, Range::Positive,
                      "measured bandwidth of an endpoint by the number of peers that exchange data, instead of "
                      "'bandwidth' and 'efficiency'"),
           word("algorithm", kAlgorithms, "how collectives are carried out, the fastest way unless given"),
       }},
      std::move(more));
}

/// What every core that uses zeros may state.
BlockSchema sparse(StringRef subtype, StringRef doc, std::vector<KeySchema> keys) {
  BlockSchema block{"sparse", subtype, doc, std::move(keys)};
  std::vector<KeySchema> common{
      integer("tile", Better::More, Range::Positive,
              "elements of an operand among which a lane looks for work, 1 unless given"),
      quantity("metadata", Better::Less, {kBytes}, Range::NonNegative,
               "of each element kept, besides those of the format"),
      quantity("setup_cycles", Better::Less, {kCycles}, Range::NonNegative, "of each operation"),
      quantity("gated_energy", Better::Less, {kNumber}, Range::NonNegative,
               "share of a multiply-accumulate's energy that a gated one takes, 0.03 unless "
               "given"),
      quantity("words_per_cycle", Better::More, {kNumber}, Range::Positive,
               "operand words that the memory beside the core delivers in a cycle, enough "
               "unless given"),
  };
  for (KeySchema &key : common)
    block.keys.push_back(std::move(key));
  return block;
}

/// Ports and latencies of what is stored, which memories and caches of a microarchitecture have in common.
BlockSchema storage(StringRef kind, StringRef doc, std::vector<KeySchema> keys) {
  return extended(
      {"part", kind, doc, std::move(keys)},
      {
          capacity("requests", "under way at once; of a cache: misses"),
          quantity("port_width", Better::More, {kBytes}, Range::Positive,
                   "bytes that a port moves in a cycle, inside of one aligned piece of this size", kRequired),
          integer("ports", Better::More, Range::Positive, "beats a cycle, 1 unless given"),
          integer("banks", Better::More, Range::Positive, "one beat a cycle each, 1 unless given"),
          quantity("read_latency", Better::Less, {kCycles}, Range::NonNegative,
                   "from a beat of a load to its data, 1 cycle unless given"),
          quantity("write_latency", Better::Less, {kCycles}, Range::NonNegative,
                   "from a beat of a store until it is done, 1 cycle unless given"),
      });
}

/// What a microarchitecture consists of: a new kind of part is a row here, and a line of
/// lib/machine/translate.
std::vector<BlockSchema> microarchitectureTable() {
  auto count = [](StringRef name, StringRef doc) { return integer(name, Better::Neither, Range::NonNegative, doc); };
  return {
      {"microarchitecture",
       "",
       "a core at the level of instructions",
       {capacity("window", "instructions between their entry of a unit and their retirement, which is in order")}},
      {"part",
       "opcode",
       "what an instruction word does",
       {count("reads", "registers that it reads, 0 unless given"),
        count("writes", "registers that it writes, 0 unless given"),
        count("loads", "memory operands that it reads, 0 unless given"),
        count("stores", "memory operands that it writes, 0 unless given"),
        count("immediates", "numbers in the instruction word, 0 unless given"),
        word("does",
             words("load broadcast store copy constant move preload add subtract multiply multiply_add divide max min "
                   "greater "
                   "equal exp log square_root tanh erf reduce_add reduce_max add_immediate branch"),
             "what it computes of the registers that it reads, for kernels of operations; nothing unless given"),
        integer("lanes", Better::More, Range::Positive, "elements of a register that it computes, 1 unless given"),
        shape("tile", Better::More, 2, 3,
              "rows and columns that it moves, m x n; or of a product of m x k and k x n, m x n x k"),
        plain("redirects", ValueKind::Boolean,
              "whether fetch waits until it is complete, because it decides where the program goes on; false unless "
              "given")}},
      {"part",
       "fetch",
       "brings instructions in the order of the program",
       {capacity("width", "instructions a cycle"), capacity("buffer", "instructions fetched that are in no stage yet"),
        quantity("latency", Better::Less, {kCycles}, Range::NonNegative,
                 "from fetch until an instruction may enter the first stage, 1 cycle unless given"),
        part("to", "stage execute", "the first stage", kRequired)}},
      {"part",
       "stage",
       "holds instructions on their way to the units",
       {capacity("capacity", "instructions in it at once"),
        integer("width", Better::More, Range::Positive, "instructions that enter in a cycle, 1 unless given"),
        cycles("latency", "that an instruction stays at least, 1 unless given"),
        parts("to", "stage execute", "what comes behind it: the first that accepts an instruction has it", kRequired)}},
      {"part",
       "execute",
       "a stage that hands instructions to functional units",
       {capacity("capacity", "instructions in it at once"),
        integer("width", Better::More, Range::Positive, "instructions that enter in a cycle, 1 unless given"),
        cycles("latency", "that an instruction stays at least, 1 unless given"),
        parts("units", "unit", "in the order in which they are asked", kRequired)}},
      {"part",
       "unit",
       "a functional unit",
       {capacity("entries", "instructions in an instance at once, until the next one may start"),
        parts("reads", "registers", "register files that it reads"),
        parts("writes", "registers", "register files that it writes"),
        parts("loads", "memory cache", "memories that it loads from"),
        parts("stores", "memory cache", "memories that it stores to")}},
      {"part",
       "operation",
       "what a unit does with one opcode",
       {cycles("latency", "from start to result; with memory operands: to the first request", kRequired),
        cycles("interval", "until the same instance may start the next instruction, 1 unless given"),
        part("opcode", "opcode", "the name of the operation", kRequired),
        part("unit", "unit", "the unit around it", kRequired)}},
      {"part",
       "registers",
       "a register file",
       {quantity("width", Better::Neither, {kBytes}, Range::NonNegative, "of a register, such as 32 bit", kRequired),
        integer("read_ports", Better::More, Range::Positive, "registers read in a cycle, enough unless given"),
        integer("write_ports", Better::More, Range::Positive, "registers written in a cycle, enough unless given"),
        plain("renamed", ValueKind::Boolean,
              "whether writes wait neither for readers nor for writers before them, false unless given"),
        plain("counts", ValueKind::Boolean,
              "whether registers count what is under way: writes wait for nothing, and reads for all writers before "
              "them; false unless given")}},
      storage("memory", "a store of bytes",
              {quantity("begin", Better::Neither, {kBytes}, Range::NonNegative, "its first address, 0 B unless given"),
               quantity("size", Better::More, {kBytes}, Range::Positive, "bytes it holds", kRequired),
               quantity("row", Better::Neither, {kBytes}, Range::Positive,
                        "bytes of a row of a bank, where banks have rows"),
               quantity("row_miss", Better::Less, {kCycles}, Range::NonNegative,
                        "that a bank needs before a beat of another row than its last")}),
      storage("cache", "a set-associative cache before a memory",
              {part("behind", "memory cache", "where it has its lines from", kRequired),
               integer("sets", Better::More, Range::Positive, "a power of two", kRequired),
               integer("ways", Better::More, Range::Positive, "lines of a set", kRequired),
               quantity("line", Better::More, {kBytes}, Range::Positive, "bytes of a line", kRequired),
               word("replacement", words("lru fifo tree_plru"), "what a new line replaces, lru unless given"),
               word("write", words("back through"),
                    "whether stores reach what is behind when a line is replaced or at once; back unless given"),
               plain("allocate", ValueKind::Boolean, "whether a store that misses brings its line, true unless given"),
               plain("critical_word_first", ValueKind::Boolean,
                     "whether a load that misses has its data before the rest of the line, false unless given")}),
  };
}

std::vector<BlockSchema> machineTable() {
  const StringRef extents = "endpoints along each dimension";
  return {
      {"accelerator",
       "",
       "one chip",
       {
           quantity("clock", Better::More, {kFrequency}, Range::Positive,
                    "cycles per second of cores and on-chip memories"),
           quantity("technology", Better::Less, {kLength}, Range::Positive, "the process node"),
           quantity("voltage", Better::Less, {kNumber}, Range::Positive,
                    "share of the nominal supply of the process, 1 unless given"),
           quantity("area", Better::Less, {kArea}, Range::Positive, "of the whole chip"),
           word("interconnect", words("bus ring mesh crossbar"),
                "the network between the cores and the memory on the chip that they share, none unless given"),
           plain("cost_model", ValueKind::String, "name of the cost model for all cores that state none"),
           quantity("kernel_launch_overhead", Better::Less, {kTime}, Range::NonNegative,
                    "minimum time of an operation: the overhead of its launch"),
           quantity("host_overhead_per_microbatch", Better::Less, {kTime}, Range::NonNegative,
                    "time of the host for each micro-batch"),
           quantity("host_overhead_per_step", Better::Less, {kTime}, Range::NonNegative,
                    "time of the host for each step"),
           quantity("host_bandwidth", Better::More, {kBandwidth}, Range::Positive,
                    "of the link from the host's memory, in one direction"),
           plain("dataflow", ValueKind::Block, "layers side by side, each on multipliers of its own"),
           plain("framework", ValueKind::Reference, "what trains on it where a cluster of it states none"),
       }},
      {"dataflow",
       "",
       "layers side by side, each on multipliers of its own",
       {
           integer("multipliers", Better::More, Range::Positive, "of the whole device, such as DSP slices", kRequired),
           shape("multiplier_bits", Better::Neither, 2, 2, "widths of a multiplier's operands, 18 x 27 unless given"),
           integer("block_rams", Better::More, Range::Positive,
                   "block RAMs of 18 Kibit; with them `accord prune` places weights and buffers"),
           integer("ultra_rams", Better::More, Range::Positive, "UltraRAMs of 288 Kibit, none unless given"),
           integer("luts", Better::More, Range::Positive, "look-up tables of six inputs, enough unless given"),
       }},
      memory("dram", "device memory",
             {integer("channels", Better::More, Range::Positive, "independent channels"),
              quantity("sector", Better::Less, {kBytes}, Range::Positive, "smallest piece it reads"),
              quantity("refresh_efficiency", Better::More, {kNumber}, Range::Fraction,
                       "share of the time that refresh leaves for transfers, 1 - tRFC / tREFI of its standard"),
              choosable(
                  word("standard", {"ddr3", "lpddr4", "lpddr5", "hbm2", "hbm2e", "gddr6", "gddr6x", "none"},
                       "what it is, for its energy where that is not stated; none: no interface of it is on the die"),
                  BestWord::Unstated)}),
      memory("scratchpad", "on-chip memory that software fills",
             {integer("banks", Better::More, Range::Positive, "banks that work at once"),
              integer("ports", Better::More, Range::Positive, "ports of a bank"),
              quantity("port_width", Better::More, {kBytesPerCycle}, Range::Positive,
                       "bytes that one port moves in a cycle")}),
      memory("cache", "on-chip memory that hardware fills",
             {quantity("line", Better::Neither, {kBytes}, Range::Positive, "bytes of a line"),
              integer("ways", Better::More, Range::Positive, "associativity"),
              integer("banks", Better::More, Range::Positive, "banks that work at once"),
              integer("ports", Better::More, Range::Positive, "ports of a bank"),
              quantity("port_width", Better::More, {kBytesPerCycle}, Range::Positive,
                       "bytes that one port moves in a cycle")}),
      memory("register_file", "registers beside a core",
             {integer("banks", Better::More, Range::Positive, "files that work at once"),
              integer("ports", Better::More, Range::Positive, "ports of the file"),
              quantity("port_width", Better::More, {kBytesPerCycle}, Range::Positive,
                       "bytes that one port moves in a cycle")}),
      core("tensor", "matrix arithmetic: a multiply-accumulate array or tensor cores",
           {shape("array", Better::More, 2, 2, "rows and columns of one array"),
            choosable(word("dataflow", kDataflows, "which operand stays in the array"), BestWord::Unstated),
            wordSet("overlap", {"fill", "drain"},
                    "what the array does while it computes: fill for the next fold, drain the last one"),
            choosable(word("multiply", kPrecisions, "precision of the multipliers"), BestWord::AllTypes),
            choosable(word("accumulate", kPrecisions, "precision of the accumulators"), BestWord::Unstated),
            plain("sparse", ValueKind::Block, "sparse acceleration features")}),
      core("vector", "element-wise arithmetic",
           {integer("lanes", Better::More, Range::Positive, "elements per cycle of one core"),
            quantities("cycles", Better::Less, {kCycles}, kLaneOperations, Range::Positive,
                       "cycles of one element in a lane, by kind of operation")}),
      sparse("nm", "n of every m elements are kept, the others are neither stored nor computed: nm(2, 4)",
             {
                 integer("n", Better::Less, Range::Positive, "elements kept"),
                 integer("m", Better::More, Range::Positive, "of this many in a row"),
                 quantity("rate", Better::More, {kNumber}, Range::AtLeastOne,
                          "peak against dense as the data sheet prints it, m / n"),
                 word("on", {"weights", "activations"}, "the operand that is sparse, weights unless given"),
             }),
      sparse(
          "", "sparse acceleration features for any pattern",
          {
              word("stationary", {"none", "gate", "skip"},
                   "zeros of the operand that stays, weights of a weight-stationary array: no "
                   "energy (gate), and no cycle either (skip)"),
              word("streaming", {"none", "gate", "skip"}, "those of the other operand"),
              wordSet("compress", {"stationary", "streaming"}, "operands whose zeros are neither moved nor stored"),
              integer("granule", Better::Less, Range::Positive, "neighbours that are skipped together, 1 unless given"),
              integer("slots", Better::More, Range::Positive,
                      "elements of a tile that a lane computes in a cycle, 1 unless given"),
              integer("lanes", Better::Neither, Range::Positive,
                      "lanes that wait for the slowest of them after each tile, 1 unless given"),
          }),
      {"power",
       "",
       "power and energy",
       {
           quantity("idle", Better::Less, {kPower}, Range::NonNegative, "drawn when nothing runs"),
           quantity("tdp", Better::Less, {kPower}, Range::Positive, "sustained power limit"),
           quantity("mac", Better::Less, {kEnergy}, Range::NonNegative, "energy of one multiply-accumulate"),
           quantities("mac_by_type", Better::Less, {kEnergy}, kPrecisions, Range::NonNegative,
                      "energy of one multiply-accumulate by precision; other precisions use 'mac'"),
           plain("model", ValueKind::String, "name of a model in the catalogue, of what is not stated"),
           quantity("ambient", Better::Less, {kTemperature}, Range::Positive,
                    "temperature of the air or water that cools, 308.15 K (35 degrees Celsius) unless given"),
           quantity("thermal_resistance", Better::Less, {kTemperature / kPower}, Range::Positive,
                    "from the die to what cools, a forced-air heat sink unless given"),
           quantity("junction_limit", Better::Neither, {kTemperature}, Range::Positive,
                    "highest temperature of the die, 378.15 K (105 degrees Celsius) unless given"),
           quantity("regulator_efficiency", Better::More, {kNumber}, Range::Fraction,
                    "share of the board's power that reaches the die, 0.85 unless given"),
       }},
      {"level",
       "",
       "a lower clock for less power",
       {
           quantity("clock", Better::More, {kNumber}, Range::Fraction, "share of the full clock"),
           quantity("power", Better::Less, {kNumber}, Range::Fraction,
                    "share of the power above idle, with the same work in each cycle"),
           quantity("cap", Better::More, {kPower}, Range::Positive, "of a step's average power, instead of a clock"),
       }},
      {"area",
       "",
       "area by part",
       {
           plain("model", ValueKind::String, "name of a table of areas in the catalogue"),
           quantities("interfaces", Better::Neither, {kNumber}, kInterfaces, Range::Positive,
                      "how many of a kind are on the die, beside those of memories"),
           quantity("mac", Better::Less, {kArea}, Range::NonNegative, "of one multiply-accumulate unit"),
           quantity("lane", Better::Less, {kArea}, Range::NonNegative, "of one vector lane"),
           quantity("sram", Better::Less, {kArea / kBytes}, Range::NonNegative, "of on-chip memory per byte"),
           quantity("fixed", Better::Less, {kArea}, Range::NonNegative, "of everything that does not scale"),
       }},
      {"cluster",
       "",
       "servers and the networks between them",
       {quantity("grid_intensity", Better::Less, {kMass / kEnergy}, Range::NonNegative,
                 "greenhouse gases of the electricity it runs on, as carbon dioxide"),
        quantity("device_mtbf", Better::More, {kTime}, Range::Positive, "mean time between failures of one device"),
        quantity("detection_time", Better::Less, {kTime}, Range::NonNegative, "from a failure to its discovery"),
        quantity("restart_time", Better::Less, {kTime}, Range::NonNegative,
                 "from the discovery of a failure to the next step of a training"),
        quantity("checkpoint_bandwidth", Better::More, {kBandwidth}, Range::Positive,
                 "at which all devices together write a checkpoint"),
        integer("spare_servers", Better::More, Range::NonNegative, "that replace failed ones"),
        quantity("repair_time", Better::Less, {kTime}, Range::NonNegative, "of a failed server"),
        quantity("straggler_slowdown", Better::Less, {kNumber}, Range::NonNegative,
                 "share by which slow devices lengthen a step"),
        plain("framework", ValueKind::Reference, "what trains on it")}},
      {"framework",
       "",
       "the software that runs a training",
       {
           word("weights", words("both master"),
                "copies of a weight in mixed precision: in both types, or the fp32 master alone"),
           word("gradients", words("compute fp32 both"),
                "type in which gradients are added up in mixed precision; both: in fp32, beside those of one "
                "micro-batch "
                "in the type of products"),
           word("reductions", words("compute fp32"), "type in which replicas exchange them"),
           integer("zero", Better::Neither, Range::NonNegative, "stage of ZeRO of a training that states none"),
           integer("zero_min", Better::Neither, Range::NonNegative, "the first stage of ZeRO that it has"),
           integer("zero_max", Better::Neither, Range::NonNegative, "the last stage of ZeRO that it has"),
           wordSet("divides", words("tensor sequence context pipeline data expert tables"),
                   "degrees of parallelism it has"),
           wordSet("overlaps", words("none gradient_reduction"), "what it exchanges while it computes"),
           integer("vocabulary_multiple", Better::Neither, Range::Positive,
                   "what the rows of token tables and logits are padded to a multiple of"),
           plain("vocabulary_multiple_per_tensor", ValueKind::Boolean, "of this times the tensor degree"),
           plain("fuse_elementwise", ValueKind::Boolean, "element-wise work runs where its tensor is made"),
           quantity("loss_bytes", Better::Less, {kBytes}, Range::NonNegative,
                    "of all tensors of the size of the logits while the loss runs, for each logit"),
           quantity("gradient_buckets", Better::Less, {kBytes}, Range::NonNegative,
                    "copies of gradients under way between replicas"),
           quantity("reserved_ratio", Better::Less, {kNumber}, Range::AtLeastOne,
                    "what its allocator reserves over what is allocated, at the peak"),
           quantity("context", Better::Less, {kBytes}, Range::NonNegative,
                    "of the driver's context and loaded kernels, outside of the allocator"),
           quantity("communication", Better::Less, {kBytes}, Range::NonNegative,
                    "of the communication library, outside of the allocator"),
           quantity("margin", Better::Less, {kNumber}, Range::NonNegative,
                    "share that a prediction of memory may be too low, at `confidence`"),
           quantity("confidence", Better::More, {kNumber}, Range::Fraction, "of `margin`, 0.9 unless given"),
           quantity("host_overhead_per_microbatch", Better::Less, {kTime}, Range::NonNegative,
                    "of the host for each micro-batch, where the machine states none"),
           quantity("host_overhead_per_step", Better::Less, {kTime}, Range::NonNegative,
                    "of the host for each step, where the machine states none"),
       }},
      {"server",
       "",
       "equal servers",
       {quantity("power", Better::Less, {kPower}, Range::NonNegative, "drawn besides host and devices")}},
      {"device", "", "equal accelerators of a server", {}},
      {"host",
       "",
       "the processor side of a server",
       {
           quantity("memory", Better::More, {kBytes}, Range::Positive, "bytes of main memory"),
           quantity("memory_bandwidth", Better::More, {kBandwidth}, Range::Positive, "of main memory"),
           quantity("storage", Better::More, {kBandwidth}, Range::Positive, "bytes per second read from storage"),
           integer("cpu_cores", Better::More, Range::Positive, "processor cores"),
           quantity("power", Better::Less, {kPower}, Range::NonNegative, "drawn by the host"),
       }},
      network("", "what every network has", {}),
      network("switch", "every endpoint on one switch",
              {word("reduction", kReductions, "where an all-reduce may be added up")}),
      network("fully_connected", "a link between every two endpoints", {}),
      network("ring", "a link to the next and the previous endpoint", {}),
      network("mesh", "a grid", {shape("shape", Better::Neither, 1, 3, extents, kRequired)}),
      network("torus", "a grid whose ends are joined", {shape("shape", Better::Neither, 1, 3, extents, kRequired)}),
      network("fat_tree", "switches in levels",
              {quantity("oversubscription", Better::Less, {kNumber}, Range::AtLeastOne,
                        "bandwidth into a level over bandwidth out of it, 1 unless given"),
               integer("leaf", Better::More, Range::Positive, "endpoints of one leaf switch, 1 unless given"),
               word("reduction", kReductions, "where an all-reduce may be added up")}),
      network("bus", "one link shared by all", {}),
      {"price",
       "",
       "what use costs",
       {
           quantity("amount", Better::Less, {kMoney / kTime, kMoney}, Range::NonNegative,
                    "rent per time, or the price to buy", kRequired),
           plain("per", ValueKind::Reference, "of what this is the price, the enclosing block unless given"),
       }},
  };
}
} // namespace

bool holdsNumbers(ValueKind kind) {
  return kind == ValueKind::Quantity || kind == ValueKind::QuantityMap || kind == ValueKind::Integer ||
         kind == ValueKind::Shape || kind == ValueKind::Cycles;
}

const KeySchema &countKey() {
  static const KeySchema key = integer("count", Better::More, Range::Positive, "how many equal ones there are");
  return key;
}

llvm::ArrayRef<BlockSchema> allSchemas() {
  static const std::vector<BlockSchema> all = [] {
    std::vector<BlockSchema> blocks = machineTable();
    llvm::append_range(blocks, microarchitectureTable());
    return blocks;
  }();
  return all;
}

const BlockSchema *findSchema(StringRef kind, StringRef subtype) {
  for (const BlockSchema &block : allSchemas())
    if (block.kind == kind && block.subtype == subtype)
      return &block;
  return nullptr;
}

const KeySchema *BlockSchema::findKey(StringRef name) const {
  for (const KeySchema &key : keys)
    if (key.name == name)
      return &key;
  return nullptr;
}

std::vector<StringRef> BlockSchema::keyNames() const {
  std::vector<StringRef> names;
  for (const KeySchema &key : keys)
    names.push_back(key.name);
  return names;
}

std::vector<StringRef> subtypesOf(StringRef kind) {
  std::vector<StringRef> found;
  for (const BlockSchema &block : allSchemas())
    if (block.kind == kind && !block.subtype.empty())
      found.push_back(block.subtype);
  return found;
}

StringRef canonicalWord(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("os", "output_stationary")
      .Case("ws", "weight_stationary")
      .Case("is", "input_stationary")
      .Case("rs", "row_stationary")
      .Default(word);
}

} // namespace accord::accel
