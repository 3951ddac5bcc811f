// The dnn dialect, its attributes and types.
#ifndef ACCORD_DNN_BASE
#define ACCORD_DNN_BASE
include "dialects/interfaces/Builder.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"

def Dnn_Dialect : Dialect {
  let name = "dnn";
  let cppNamespace = "::accord::dnn";
  let summary = "DNN training: models as written, and the training graphs built from them";
  let description = [{
    Operations work on builtin ranked tensors. A leading `?` is the batch, which stays symbolic until a
    micro-batch is chosen; parameters have static shapes. Attributes that name a dimension (`axis`, `permutation`,
    `dims`) count the dimensions after the batch, negative ones from the end.
    Sums inside normalizations, softmax and losses are taken in fp32 whatever the element type.

    In a training graph every operation carries `dnn.phase` (a `#dnn.phase`) and `dnn.name` (unique, readable).
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral kPhaseAttr = "dnn.phase";
    static constexpr llvm::StringLiteral kNameAttr = "dnn.name";
    static constexpr llvm::StringLiteral kPartsAttr = "dnn.parts"; ///< which part of a whole (a list of #dnn.part)
    static constexpr llvm::StringLiteral kAxesAttr = "dnn.axes"; ///< on a training graph: devices by axis, {tensor = 8}
    static constexpr llvm::StringLiteral kBatchAxesAttr = "dnn.batch_axes"; ///< on a training graph: axes whose devices take samples of their own
    static constexpr llvm::StringLiteral kInputPartsAttr = "dnn.input_parts"; ///< on a training graph: by input, which part of each sample is here
    static constexpr llvm::StringLiteral kRingAttr = "dnn.ring"; ///< a mark on a collective: it travels in pieces, beside the attention to other pieces
    static constexpr llvm::StringLiteral kRecomputeAttr = "dnn.recompute"; ///< a mark: execute again in the backward pass, keep nothing
    static constexpr llvm::StringLiteral kAgainAttr = "dnn.again"; ///< the name of the operation that is executed again
    void registerAttributes();
    void registerTypes();
    void registerOperations();
  }];
}

class Dnn_Attr<string name, string attrMnemonic> : AttrDef<Dnn_Dialect, name> {
  let mnemonic = attrMnemonic;
}
class Dnn_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::accord::dnn";
  let genSpecializedAttr = 0;
}

def Dnn_Phase : Dnn_Enum<"Phase", "part of the training step an operation belongs to", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"DataGradient", 1, "data_gradient">,
  I32EnumAttrCase<"WeightGradient", 2, "weight_gradient">, I32EnumAttrCase<"Update", 3, "update">,
  I32EnumAttrCase<"Communication", 4, "communication">, I32EnumAttrCase<"Recompute", 5, "recompute">]>;
def Dnn_PhaseAttr : EnumAttr<Dnn_Dialect, Dnn_Phase, "phase"> { let assemblyFormat = "`<` $value `>`"; }

def Dnn_OptimizerKind : Dnn_Enum<"OptimizerKind", "optimizer of the training", [
  I32EnumAttrCase<"Sgd", 0, "sgd">, I32EnumAttrCase<"Momentum", 1, "momentum">,
  I32EnumAttrCase<"Adam", 2, "adam">, I32EnumAttrCase<"AdamW", 3, "adamw">,
  I32EnumAttrCase<"RowwiseAdagrad", 4, "rowwise_adagrad">, // of tables with sparse gradients alone
  I32EnumAttrCase<"None", 5, "none">]>; // of inference: the forward pass alone
def Dnn_OptimizerAttr : EnumAttr<Dnn_Dialect, Dnn_OptimizerKind, "optimizer"> { let assemblyFormat = "`<` $value `>`"; }

def Dnn_PrecisionAttr : Dnn_Attr<"Precision", "precision"> {
  let summary = "number formats of the training";
  let description = [{
    `#dnn.precision<f32>`: everything in one format. `#dnn.precision<mixed, bf16>`: weights, activations and gradients in
    bf16, the optimizer's master weights and states in fp32. `gradients` gives gradient buffers a format of their own:
    `#dnn.precision<mixed, bf16, gradients = f32>`. `products` is the format in which products of layers with their weights take
    what the forward pass computes, where it is narrower than the values (`quantize-products`):
    `#dnn.precision<mixed, bf16, products = f8E4M3FN>`.
  }];
  let parameters = (ins "bool":$mixed, "::mlir::Type":$element, "::mlir::Type":$gradients, "::mlir::Type":$products);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "bool":$mixed, "::mlir::Type":$element), [{
    return $_get($_ctxt, mixed, element, element, element);
  }]>, AttrBuilder<(ins "bool":$mixed, "::mlir::Type":$element, "::mlir::Type":$gradients), [{
    return $_get($_ctxt, mixed, element, gradients, element);
  }]>];
}

def Dnn_RowsAttr : Dnn_Attr<"Rows", "rows"> {
  let summary = "a sparse gradient: of a table, the rows that were looked up";
  let description = [{
    `tensor<1000000x64xf32, #dnn.rows<26 x i32>>`: stored as 26 ids of i32 and as many rows of 64 for each sample, in the order of the
    lookups. A row that was looked up twice is there twice; its gradient is the sum. All other rows are zero and not stored.
  }];
  let parameters = (ins "int64_t":$lookups, "::mlir::Type":$index);
  let assemblyFormat = "`<` $lookups `x` $index `>`";
  let genVerifyDecl = 1;
}

def Dnn_StashType : TypeDef<Dnn_Dialect, "Stash"> {
  let mnemonic = "stash";
  let summary = "one value per iteration of a repeat, kept for its reverse";
  let description = "`!dnn.stash<48 x tensor<?x1600xbf16>>`; the element may be a stash again (nested repeats).";
  let parameters = (ins "int64_t":$count, "::mlir::Type":$element);
  let assemblyFormat = "`<` $count `x` $element `>`";
  let genVerifyDecl = 1;
}

// Attribute kinds: a signed count, and an integer that may be given per spatial dimension (`2` or `array<i64: 2, 1>`).
def Dnn_Int : TypedSignlessIntegerAttrBase<I64, "int64_t", "integer"> {
  let returnType = "int64_t";
  let convertFromStorage = "$_self.getValue().getSExtValue()";
}
def Dnn_Extents : Attr<CPred<"::accord::dnn::isExtents($_self)">,
    "integer, or an array with one for each spatial dimension (of padding: or for both of its ends)"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute"; // read it with accord::dnn::asExtents or asPadding
  let convertFromStorage = "$_self";
  let constBuilderCall = "$_builder.getI64IntegerAttr($0)";
}

// Numbers that operations compute with. None is infinite or no number: what it is multiplied with would be lost.
class Dnn_NumberWhere<string condition, string summary> : ConfinedAttr<F64Attr, [AttrConstraint<
    CPred<"[](double v) { return std::isfinite(v) && (" # condition # "); }(::llvm::cast<::mlir::FloatAttr>($_self).getValueAsDouble())">,
    "whose value is " # summary>]>;
def Dnn_Number : Dnn_NumberWhere<"true", "finite">;
def Dnn_Positive : Dnn_NumberWhere<"v > 0", "finite and above 0">;
def Dnn_Base : Dnn_NumberWhere<"v > 1", "finite and above 1">;
def Dnn_Skew : Dnn_NumberWhere<"v >= 0 && v <= 16", "at least 0 and at most 16">;
def Dnn_Rate : Dnn_NumberWhere<"v >= 0 && v < 1", "at least 0 and less than 1">;

def Dnn_Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "tensor", "::mlir::RankedTensorType">;
def Dnn_Value : Type<CPred<"::llvm::isa<::mlir::RankedTensorType, ::accord::dnn::StashType>($_self)">, "tensor or stash">;

class Dnn_Op<string mnemonic, list<Trait> traits = []> : Op<Dnn_Dialect, mnemonic, traits> {
  bit plain = 0; // whether its builder takes values
  let skipDefaultBuilders = 1;
  let builders = [Accord_Builder<results, arguments, !size(regions), plain>.builder];
}
#endif
