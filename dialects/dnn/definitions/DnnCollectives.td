// What devices that share a training step say to each other.
#ifndef ACCORD_DNN_COLLECTIVES
#define ACCORD_DNN_COLLECTIVES
include "dialects/dnn/definitions/DnnWork.td"

def Dnn_PartAttr : Dnn_Attr<"Part", "part"> {
  let summary = "a device holds one part of a dimension";
  let description = [{
    `#dnn.part<"tensor", 0 of 8>`: along tensor dimension 0, eight equal parts in the order of the devices' ranks on the axis "tensor".
    `dnn.parts`, a list of them, stands on parameters (their type is that of one part), and on operations that must know where
    in the whole their part lies: dropout and alibi (of the operand), embeddings (of the table), the parts of a loss (of the logits).
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, "int64_t":$dimension, "int64_t":$devices);
  let assemblyFormat = "`<` $axis `,` $dimension `of` $devices `>`";
}

// On the devices that differ only in their rank on `axis`. FLOP of the additions inside are not counted. Bytes are those of the operand
// and the result on one device; what travels on links depends on the algorithm (see lib/shard/Traffic.h).
class Dnn_Collective<string mnemonic, list<Trait> traits = []> : Dnn_WorkOp<mnemonic, 0, traits> {
  let results = (outs Dnn_Tensor:$y);
  let more = "::accord::WorkCore getCoreKind() { return ::accord::WorkCore::Network; }\n";
  let hasVerifier = 1;
}
def Dnn_AllReduceOp : Dnn_Collective<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "the sum (or `mean`) of x over the devices of `axis`, on each of them";
  let description = "`%y = dnn.all_reduce %x {axis = \"tensor\", devices = 8 : i64} : (tensor<?x2048x4096xbf16>) -> tensor<?x2048x4096xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, StrAttr:$axis, Dnn_Int:$devices, UnitAttr:$mean);
}
def Dnn_AllGatherOp : Dnn_Collective<"all_gather"> {
  let summary = "the parts of all devices of `axis`, joined along `dimension` in the order of their ranks";
  let description = "`stacked`: along a new dimension, one entry per device.\n"
    "`%y = dnn.all_gather %x {axis = \"tensor\", devices = 8 : i64, dimension = 1 : i64} : (tensor<?x256x4096xbf16>) -> tensor<?x2048x4096xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, StrAttr:$axis, Dnn_Int:$devices, Dnn_Int:$dimension, UnitAttr:$stacked);
}
def Dnn_ReduceScatterOp : Dnn_Collective<"reduce_scatter"> {
  let summary = "this device's part, along `dimension`, of the sum of x over the devices of `axis`";
  let description = "`stacked`: the dimension has one entry per device and is dropped.\n"
    "`%y = dnn.reduce_scatter %x {axis = \"tensor\", devices = 8 : i64, dimension = 1 : i64} : (tensor<?x2048x4096xbf16>) -> tensor<?x256x4096xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, StrAttr:$axis, Dnn_Int:$devices, Dnn_Int:$dimension, UnitAttr:$stacked);
}
def Dnn_AllToAllOp : Dnn_Collective<"all_to_all"> {
  let summary = "every device sends one part along `split` to each device of `axis` and joins what it gets along `join`";
  let description = "`split_stacked`: that dimension has one entry per device and is dropped. `join_stacked`: the parts lie along a new dimension.\n"
    "`%y = dnn.all_to_all %x {axis = \"tensor\", devices = 4 : i64, split = 1 : i64, join = 2 : i64} : (tensor<?x32x64xf32>) -> tensor<?x8x256xf32>`";
  let arguments = (ins Dnn_Tensor:$x, StrAttr:$axis, Dnn_Int:$devices, Dnn_Int:$split, Dnn_Int:$join, UnitAttr:$split_stacked,
                       UnitAttr:$join_stacked);
}
def Dnn_TakePartOp : Dnn_WorkOp<"take_part", 0> {
  let summary = "this device's part of x, which all devices of `axis` have, along `dimension`";
  let description = "Nothing travels; the part is read and written.\n"
    "`%y = dnn.take_part %x {axis = \"tensor\", devices = 8 : i64, dimension = 1 : i64} : (tensor<?x2048x4096xbf16>) -> tensor<?x256x4096xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, StrAttr:$axis, Dnn_Int:$devices, Dnn_Int:$dimension);
  let results = (outs Dnn_Tensor:$y);
  let more = Dnn_ReadsTouched;
  let hasVerifier = 1;
}

def Dnn_GradientAllReduceOp : Dnn_Op<"gradient_all_reduce", [HasParent<"OptimizerStepOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<WorkOpInterface, ["getCoreKind", "getBytesRead", "getBytesWritten"]>]> {
  let summary = "the gradient of a parameter becomes its mean over the devices of `axis`, once per step";
  let description = [{
    Data parallelism: each replica has seen samples of its own. With `local`, the gradient needs no exchange, because one device has taken
    the samples of all replicas into account for its part of the parameter (an embedding table, an expert): it is only divided by their number.
    With `rows`, the gradient is sparse: every device gathers the rows of all, so many of its own for each sample (as PyTorch's all-reduce of
    sparse tensors does).
    `dnn.gradient_all_reduce @w : tensor<8x4xbf16> copies 48 {axis = "data", devices = 4 : i64, precision = #dnn.precision<mixed, bf16>}`
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, TypeAttrOf<Dnn_Tensor>:$type, DefaultValuedAttr<Dnn_Int, "1">:$copies, StrAttr:$axis,
                       Dnn_Int:$devices, Dnn_PrecisionAttr:$precision, UnitAttr:$local, OptionalAttr<Dnn_RowsAttr>:$rows);
  let assemblyFormat = "$parameter `:` $type (`copies` $copies^)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}
#endif
