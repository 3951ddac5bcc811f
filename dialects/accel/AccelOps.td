// Operations of the machine dialect. A block's kind and subtype name its schema; the table is Schema.cpp.
#ifndef ACCORD_ACCEL_OPS
#define ACCORD_ACCEL_OPS

include "dialects/accel/AccelAttributes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Accel_Op<string word, list<Trait> traits = []> : Op<Accel_Dialect, word, traits> {
  bit plain = 0; // whether its builder takes values
  let skipDefaultBuilders = 1;
  let builders = [Accord_Builder<results, arguments, !size(regions), plain>.builder];
  let hasVerifier = 1;
}
/// Builds a block whose keys and sub-blocks follow.
def Accel_Empty : OpBuilder<(ins "::llvm::StringRef":$name), [{
  $_state.getOrAddProperties<Properties>().sym_name = $_builder.getStringAttr(name);
  $_state.getOrAddProperties<Properties>().entries = $_builder.getDictionaryAttr({});
  $_state.addRegion()->emplaceBlock();
}]>;
/// A block with sub-blocks; names inside are its own.
class Accel_Scope<string word, list<Trait> traits = []>
    : Accel_Op<word, !listconcat(traits, [Symbol, SymbolTable, NoTerminator, SingleBlock, NoRegionArguments])> {
  let regions = (region SizedRegion<1>:$body);
  let builders = [Accel_Empty];
  let hasRegionVerifier = 1;
}
/// Something of which a machine has several: `[2]` or a choice, one when absent.
defvar Accel_Count = OptionalAttr<AnyAttr>;
defvar Accel_HowMany = [{
    /// How many there are; nothing when that is left open.
    std::optional<int64_t> instances() { return instancesOf(getCountAttr()); }
}];

def Accel_AcceleratorOp : Accel_Scope<"accelerator", [IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "one chip: its memories, cores and the path between them";
  let description = [{
    ```mlir
    accel.accelerator @a100_80g with {clock = #accel.quantity<1410 MHz>} {
      accel.memory @hbm : dram {bandwidth = #accel.quantity<2039 GB/s>, capacity = #accel.quantity<80 GiB>}
      accel.core @tc [108] : tensor {peak = {bf16 = #accel.quantity<312 TFLOP/s>}, reads = @hbm}
      accel.power {tdp = #accel.quantity<400 W>}
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$entries);
  let assemblyFormat = "$sym_name `` custom<WithEntries>($entries) attr-dict-with-keyword $body";
}

def Accel_MemoryOp : Accel_Op<"memory", [Symbol, HasParent<"AcceleratorOp">]> {
  let summary = "one level of the memory hierarchy: dram, scratchpad, cache or register_file";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, DictionaryAttr:$entries);
  let plain = 1;
  let assemblyFormat = "$sym_name `:` custom<Word>($kind) `` custom<Entries>($entries) attr-dict-with-keyword";
}

def Accel_CoreOp : Accel_Op<"core", [Symbol, HasParent<"AcceleratorOp">]> {
  let summary = "compute cores of one kind: tensor or vector";
  let description = [{
    `peak` is what all cores of this operation reach together, as data sheets print it.
    ```mlir
    accel.core @mxu [2] : tensor {array = [128, 128], dataflow = "weight_stationary", reads = @vmem}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Accel_Count:$count, StrAttr:$kind, DictionaryAttr:$entries);
  let assemblyFormat = [{
    $sym_name `` custom<Count>($count) `:` custom<Word>($kind) `` custom<Entries>($entries) attr-dict-with-keyword
  }];
  let extraClassDeclaration = Accel_HowMany;
}

def Accel_PathOp : Accel_Op<"path", [HasParent<"AcceleratorOp">]> {
  let summary = "how data flows from the farthest memory to the cores";
  let description = [{
    ```mlir
    accel.path [@hbm] -> [@vmem] -> [@mxu, @vpu]
    ```
  }];
  let arguments = (ins ArrayAttr:$stops);
  let assemblyFormat = "custom<Stops>($stops) attr-dict";
}

def Accel_PowerOp : Accel_Op<"power", [HasParent<"AcceleratorOp">]> {
  let summary = "power limits and energy of the arithmetic";
  let arguments = (ins DictionaryAttr:$entries);
  let assemblyFormat = "`` custom<Entries>($entries) attr-dict-with-keyword";
}

def Accel_AreaOp : Accel_Op<"area", [HasParent<"AcceleratorOp">]> {
  let summary = "what parts cost in area, or the name of an area model";
  let arguments = (ins DictionaryAttr:$entries);
  let assemblyFormat = "`` custom<Entries>($entries) attr-dict-with-keyword";
}

def Accel_RequireOp : Accel_Op<"require"> {
  let summary = "a constraint on a design or a cluster, in the user's words and as an expression";
  let description = [{
    ```mlir
    accel.require "area <= 600 mm2" label "budget"
      is #accel.apply<"<=" [#accel.reference<"area">, #accel.quantity<600 mm2>]>
    ```
  }];
  let arguments = (ins StrAttr:$text, OptionalAttr<StrAttr>:$label, OptionalAttr<AnyAttr>:$condition);
  let assemblyFormat = "$text (`label` $label^)? (`is` $condition^)? attr-dict";
}

def Accel_PreferOp : Accel_Op<"prefer"> {
  let summary = "a soft constraint with a weight";
  let arguments = (ins StrAttr:$text, OptionalAttr<StrAttr>:$label, Accel_QuantityAttr:$weight,
                       OptionalAttr<AnyAttr>:$condition);
  let assemblyFormat = "$text (`label` $label^)? `weight` $weight (`is` $condition^)? attr-dict";
}

def Accel_ObjectiveOp : Accel_Op<"objective"> {
  let summary = "what to maximize or minimize";
  let arguments = (ins StrAttr:$direction, StrAttr:$text, OptionalAttr<AnyAttr>:$expression);
  let assemblyFormat = "custom<Word>($direction) $text (`is` $expression^)? attr-dict";
}

def Accel_MicroarchitectureOp : Accel_Scope<"microarchitecture", [IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a core at the level of instructions: its opcodes, stages, units, registers and memories";
  let description = [{
    Templates and arrays of the language are expanded: each of their parts is here under a name of its own.
    ```mlir
    accel.microarchitecture @oma with {window = 1 : i64} {
      accel.part @opcode.mac : opcode {reads = 3 : i64, writes = 1 : i64}
      accel.part @fetch : fetch {buffer = 1 : i64, to = @execute, width = 1 : i64}
      accel.part @execute : execute {capacity = 1 : i64, units = [@fu]}
      accel.part @fu [2] : unit {entries = 1 : i64, reads = [@r], writes = [@r]}
      accel.part @fu.mac : operation {latency = #accel.quantity<1 cycle>, opcode = @opcode.mac, unit = @fu}
      accel.part @r [16] : registers {width = #accel.quantity<32 bit>}
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$entries);
  let assemblyFormat = "$sym_name `` custom<WithEntries>($entries) attr-dict-with-keyword $body";
}

def Accel_PartOp : Accel_Op<"part", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"MicroarchitectureOp">]> {
  let summary = "a part of a microarchitecture, of a kind that the table in Schema.h has";
  let description = [{
    `latency` and `interval` are cycles, or computed of the instruction: `bytes` that it moves, its immediates `imm0`, ….
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Accel_Count:$count, StrAttr:$kind, DictionaryAttr:$entries);
  let assemblyFormat = [{
    $sym_name `` custom<Count>($count) `:` custom<Word>($kind) `` custom<Entries>($entries) attr-dict-with-keyword
  }];
  let extraClassDeclaration = Accel_HowMany;
}

def Accel_ClusterOp : Accel_Scope<"cluster", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "servers and the networks between them";
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$entries);
  let assemblyFormat = "$sym_name `` custom<WithEntries>($entries) attr-dict-with-keyword $body";
}

def Accel_ServerOp : Accel_Scope<"server", [HasParent<"ClusterOp">]> {
  let summary = "equal servers: their devices, host and networks";
  let arguments = (ins SymbolNameAttr:$sym_name, Accel_Count:$count, DictionaryAttr:$entries);
  let assemblyFormat = "$sym_name `` custom<Count>($count) `` custom<WithEntries>($entries) attr-dict-with-keyword $body";
  let builders = [Accel_Empty, OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Attribute":$count), [{
    build($_builder, $_state, name);
    $_state.getOrAddProperties<Properties>().count = count;
  }]>];
  let extraClassDeclaration = Accel_HowMany;
}

def Accel_DeviceOp : Accel_Op<"device", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>, ParentOneOf<["ClusterOp", "ServerOp"]>]> {
  let summary = "equal accelerators of a server";
  let arguments = (ins SymbolNameAttr:$sym_name, Accel_Count:$count, FlatSymbolRefAttr:$accelerator,
                       DictionaryAttr:$entries);
  let assemblyFormat = [{
    $sym_name `` custom<Count>($count) `:` $accelerator `` custom<Entries>($entries) attr-dict-with-keyword
  }];
  let extraClassDeclaration = Accel_HowMany;
}

def Accel_HostOp : Accel_Op<"host", [ParentOneOf<["ClusterOp", "ServerOp"]>]> {
  let summary = "the processor side of a server";
  let arguments = (ins DictionaryAttr:$entries);
  let assemblyFormat = "`` custom<Entries>($entries) attr-dict-with-keyword";
}

def Accel_NetworkOp : Accel_Op<"network", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>, ParentOneOf<["ClusterOp", "ServerOp"]>]> {
  let summary = "a network between devices of a server or servers of a cluster";
  let description = [{
    ```mlir
    accel.network @nvlink {bandwidth = #accel.quantity<300 GB/s>, connects = [@gpu], topology = "switch"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$entries);
  let plain = 1;
  let assemblyFormat = "$sym_name `` custom<Entries>($entries) attr-dict-with-keyword";
}

def Accel_PriceOp : Accel_Op<"price", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, ParentOneOf<["AcceleratorOp", "ClusterOp", "ServerOp"]>]> {
  let summary = "what using it costs: `{amount = 4.10 USD/h, per = @gpu}`";
  let arguments = (ins DictionaryAttr:$entries);
  let assemblyFormat = "`` custom<Entries>($entries) attr-dict-with-keyword";
}

#endif
