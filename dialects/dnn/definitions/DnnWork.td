// Base classes of the operations that compute.
#ifndef ACCORD_DNN_WORK
#define ACCORD_DNN_WORK
include "dialects/dnn/definitions/DnnBase.td"
include "dialects/interfaces/WorkOpInterface.td"
include "dialects/interfaces/DifferentiableOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// An operation with `flops` floating-point operations per point of the domain that `work` (C++) returns.
class Dnn_WorkOp<string mnemonic, int flops, list<Trait> traits = [], list<Trait> effects = [Pure]>
    : Dnn_Op<mnemonic, !listconcat(traits, effects, [WorkOpInterface])> {
  code work = "return ::accord::dnn::pointwiseWork(getOperation());";
  code more = "";
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = "int64_t getFlopsPerPoint() { return " # flops # "; }\n"
                              "::accord::Work getWork() { " # work # " }\n" # more;
}
// A forward operation: result types follow from operands and attributes, and it has a gradient.
class Dnn_ForwardOp<string mnemonic, int flops, list<Trait> traits = []>
    : Dnn_WorkOp<mnemonic, flops, !listconcat(traits, [InferTypeOpAdaptor, DeclareOpInterfaceMethods<DifferentiableOpInterface>])>;
// As above, with a result that no other execution gives: it may be left out or moved, never shared.
class Dnn_RandomOp<string mnemonic, int flops>
    : Dnn_WorkOp<mnemonic, flops, [InferTypeOpAdaptor, DeclareOpInterfaceMethods<DifferentiableOpInterface>],
                 [AlwaysSpeculatable, ConditionallySpeculatable, MemoryEffectsOpInterface]>;

// C++ fragments for `more`.
defvar Dnn_IsContraction = "bool isContraction() { return true; }\n";
defvar Dnn_IsView = "::accord::WorkCore getCoreKind() { return ::accord::WorkCore::None; }\n"
                    "std::optional<int64_t> getBytesRead(int64_t) { return 0; }\n"
                    "std::optional<int64_t> getBytesWritten(int64_t) { return 0; }\n";
defvar Dnn_ReadsTouched = "std::optional<int64_t> getBytesRead(int64_t batch);\n";
defvar Dnn_WritesTouched = "std::optional<int64_t> getBytesWritten(int64_t batch);\n";
defvar Dnn_BothTouched = !strconcat(Dnn_ReadsTouched, Dnn_WritesTouched);
#endif
