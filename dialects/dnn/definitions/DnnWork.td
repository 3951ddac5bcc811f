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
  code flopsPerPoint = "return " # flops # ";"; // or what attributes say
  code more = "";
  code declares = "";
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = "int64_t getFlopsPerPoint() { " # flopsPerPoint # " }\n"
                              "::accord::Work getWork() { " # work # " }\n" # more # declares;
}
// A forward operation: result types follow from operands and attributes (`inferTypes`, in C++), and it has a gradient.
class Dnn_ForwardOp<string mnemonic, int flops, list<Trait> effects = [Pure]>
    : Dnn_WorkOp<mnemonic, flops, [InferTypeOpAdaptor, DeclareOpInterfaceMethods<DifferentiableOpInterface>], effects> {
  string called = mnemonic;   // in messages
  bit takesTensors = 1;       // and nothing else
  list<int> ranks = [];       // dimensions that each operand has at least, with the batch
  list<string> required = []; // optional attributes that a call states
  code inference = "return inferTypes(adaptor, infer);";
  let declares = "static ::llvm::LogicalResult inferTypes(Adaptor adaptor, ::accord::dnn::ShapeInference &infer);\n";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location> location, Adaptor adaptor,
                                                      ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      ::accord::dnn::ShapeInference infer{"}] # called # [{", adaptor.getOperands(), location, types};
      if (}] # !if(takesTensors, "failed(infer.takes({" # !interleave(ranks, ", ") # "})) || ", "") # "failed(infer.needs({" #
      !interleave(!foreach(name, required, "{\"" # name # "\", adaptor.getProperties()." # name # "}"), ", ") # [{})))
        return ::mlir::failure();
      }] # inference # [{
    }
  }];
}
// As above, with a result that no other execution gives: it may be left out or moved, never shared.
class Dnn_RandomOp<string mnemonic, int flops>
    : Dnn_ForwardOp<mnemonic, flops, [AlwaysSpeculatable, ConditionallySpeculatable, MemoryEffectsOpInterface]>;

// C++ fragments for `more`.
defvar Dnn_IsContraction = "bool isContraction() { return true; }\n";
defvar Dnn_IsView = "::accord::WorkCore getCoreKind() { return ::accord::WorkCore::None; }\n"
                    "std::optional<int64_t> getBytesRead(int64_t) { return 0; }\n"
                    "std::optional<int64_t> getBytesWritten(int64_t) { return 0; }\n";
defvar Dnn_ReadsTouched = "std::optional<int64_t> getBytesRead(int64_t batch);\n";
defvar Dnn_WritesTouched = "std::optional<int64_t> getBytesWritten(int64_t batch);\n";
defvar Dnn_BothTouched = !strconcat(Dnn_ReadsTouched, Dnn_WritesTouched);
#endif
