// Operations that a user states: how points reach tensors, what is computed there, how points combine.
#ifndef ACCORD_DNN_CUSTOM
#define ACCORD_DNN_CUSTOM
include "dialects/dnn/definitions/DnnWork.td"

// Leaves, functions of one, of two and of three. Conditions are 1 and 0.
def Dnn_ScalarKind : Dnn_Enum<"ScalarKind", "what one step of a scalar expression does", [
  I32EnumAttrCase<"Operand", 0, "x">, I32EnumAttrCase<"Position", 1, "i">, I32EnumAttrCase<"Number", 2, "number">,
  I32EnumAttrCase<"Negate", 3, "neg">, I32EnumAttrCase<"Exp", 4, "exp">, I32EnumAttrCase<"Log", 5, "log">,
  I32EnumAttrCase<"Sqrt", 6, "sqrt">, I32EnumAttrCase<"Sin", 7, "sin">, I32EnumAttrCase<"Cos", 8, "cos">,
  I32EnumAttrCase<"Tanh", 9, "tanh">, I32EnumAttrCase<"Erf", 10, "erf">, I32EnumAttrCase<"Abs", 11, "abs">,
  I32EnumAttrCase<"Sign", 12, "sign">, I32EnumAttrCase<"Floor", 13, "floor">, I32EnumAttrCase<"Round", 14, "round">,
  I32EnumAttrCase<"Add", 15, "add">, I32EnumAttrCase<"Subtract", 16, "sub">, I32EnumAttrCase<"Multiply", 17, "mul">,
  I32EnumAttrCase<"Divide", 18, "div">, I32EnumAttrCase<"Power", 19, "pow">, I32EnumAttrCase<"Maximum", 20, "max">,
  I32EnumAttrCase<"Minimum", 21, "min">, I32EnumAttrCase<"Less", 22, "less">, I32EnumAttrCase<"LessEqual", 23, "less_equal">,
  I32EnumAttrCase<"Equal", 24, "equal">, I32EnumAttrCase<"Select", 25, "select">]>;

def Dnn_ScalarAttr : Dnn_Attr<"Scalar", "scalar"> {
  let summary = "an expression over one element of each operand, evaluated at every point of a domain";
  let description = [{
    `#dnn.scalar<mul(x2, tanh(add(x0, x1)))>`: `x<k>` is the element of operand k, `i<d>` the position along domain dimension d (counted from
    0), a number itself. What is used more than once has a name: `#dnn.scalar<t0 = tanh(x0), mul(t0, t0)>`. Equal expressions are one object, so that
    an expression costs one FLOP for each different step that is no leaf. `select(c, a, b)` is a where c is not 0. At most 4096 steps.
    The functions that build and ask expressions are in dialects/dnn/Scalar.h.
  }];
  let parameters = (ins "::accord::dnn::ScalarKind":$kind, ArrayRefParameter<"::mlir::Attribute">:$operands,
                       "int64_t":$index, "::mlir::FloatAttr":$number);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ScalarAttr operand(unsigned i) const { return ::llvm::cast<ScalarAttr>(getOperands()[i]); }
    bool isLeaf() const { return getOperands().empty(); }
  }];
}

def Dnn_Combine : Dnn_Enum<"Combine", "how the points that reach one element of a result combine", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;
def Dnn_CombineAttr : EnumAttr<Dnn_Dialect, Dnn_Combine, "combine"> { let assemblyFormat = "`<` $value `>`"; }

def Dnn_StatedGradientAttr : Dnn_Attr<"StatedGradient", "stated"> {
  let summary = "the gradient of an operand of `dnn.custom` as its author states it";
  let description = [{
    A `dnn.custom` that is still to be made: `of` are the operands that it is the gradient of (all of one tensor: it is given to the first),
    `reads` what it reads: operand k of the forward operation, -1 its result, -2 the gradient of its result.
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$of, "::mlir::DenseI64ArrayAttr":$reads, "::mlir::DenseI64ArrayAttr":$domain,
                       "::mlir::ArrayAttr":$maps, "::accord::dnn::ScalarAttr":$body);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Dnn_CustomOp : Dnn_Op<"custom", [Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<WorkOpInterface, ["isContraction", "getBytesRead"]>]> {
  let summary = "result[map_r(p)] = combine of body(x0[map_0(p)], x1[map_1(p)], ...) over all points p of the domain";
  let description = [{
    An operation that a `.dnn` file defines. `maps` are those of the operands, then of the result; the batch is a dimension of the domain like the
    others. An iterator is parallel when its points reach different elements of the result. FLOPs per point: the steps of the body, and one to combine where an
    iterator reduces. No point lies outside a tensor (verified). With `sum` the result may have any map, and elements that no point reaches are 0.

    The gradient of operand k follows from the body: over the same domain, body = dy * d(body)/d(x_k), from `map_r` to `map_k`; with `max` and `min`
    it goes to the points whose value is the result. `gradients` replaces it where the author states another.
    ```mlir
    %s = dnn.custom "additive_scores" %q, %k, %v over [?, 7, 9, 8] {body = #dnn.scalar<mul(x2, tanh(add(x0, x1)))>, maps = [
      affine_map<(n, i, j, d) -> (n, i, d)>, affine_map<(n, i, j, d) -> (n, j, d)>, affine_map<(n, i, j, d) -> (d)>,
      affine_map<(n, i, j, d) -> (n, i, j)>]} : (tensor<?x7x8xf32>, tensor<?x9x8xf32>, tensor<8xf32>) -> tensor<?x7x9xf32>
    ```
  }];
  let arguments = (ins StrAttr:$function, Variadic<Dnn_Tensor>:$operands, DenseI64ArrayAttr:$domain, AffineMapArrayAttr:$maps,
                       Dnn_ScalarAttr:$body, DefaultValuedAttr<Dnn_CombineAttr, "::accord::dnn::Combine::Sum">:$combine,
                       OptionalAttr<TypedArrayAttrBase<Dnn_StatedGradientAttr, "stated gradients">>:$gradients);
  let results = (outs Dnn_Tensor:$result);
  let plain = 1;
  let assemblyFormat = "$function operands `over` custom<Extents>($domain) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
#endif
