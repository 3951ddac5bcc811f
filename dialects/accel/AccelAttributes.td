// Values of keys: quantities, design-space choices, references to other values and expressions over them.
#ifndef ACCORD_ACCEL_ATTRIBUTES
#define ACCORD_ACCEL_ATTRIBUTES

include "dialects/accel/AccelDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

class Accel_Attr<string name, string word> : AttrDef<Accel_Dialect, name> {
  let mnemonic = word;
}

def Accel_Integer : AttrParameter<"::llvm::DynamicAPInt", "an exact integer of any size"> {
  let cppAccessorType = "const ::llvm::DynamicAPInt &";
  let comparator = "$_lhs == $_rhs"; // numbers of different widths compare by value
}
def Accel_Dimension : AttrParameter<"::accord::Dimension", "exponents of the base units"> {
  let cppAccessorType = "const ::accord::Dimension &";
}

def Accel_QuantityAttr : Accel_Attr<"Quantity", "quantity"> {
  let summary = "an exact physical value, with the words it was written in and its source";
  let description = [{
    The value is `numerator / denominator` in base units (second, byte, FLOP, cycle, joule, metre, dollar), always in
    lowest terms with a positive denominator. A quantity whose text does not say its value by itself (it came from
    an expression) shows it after `=`:

    ```mlir
    #accel.quantity<940 MHz source "data sheet">
    #accel.quantity<"2 * base_clock" = 1880000000 cycle/s>
    ```
  }];
  let parameters = (ins Accel_Integer:$numerator, Accel_Integer:$denominator, Accel_Dimension:$dimension,
                        StringRefParameter<"as written">:$text, StringRefParameter<"where it is from">:$source);
  let builders = [
    AttrBuilder<(ins "::llvm::DynamicAPInt":$numerator, "::llvm::DynamicAPInt":$denominator,
                     "::accord::Dimension":$dimension, CArg<"::llvm::StringRef", "\"\"">:$text,
                     CArg<"::llvm::StringRef", "\"\"">:$source)>,
    AttrBuilder<(ins "const ::accord::Quantity &":$quantity, CArg<"::llvm::StringRef", "\"\"">:$text,
                     CArg<"::llvm::StringRef", "\"\"">:$source)>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The exact value and dimension, for arithmetic.
    Quantity quantity() const;
    /// The nearest double, in base units.
    double toDouble() const;
    /// Exact comparison of the values alone; whoever calls it has compared the dimensions.
    bool below(QuantityAttr) const;
    /// The value in base units as printed: "940000000 cycle/s".
    std::string inBaseUnits() const;
    /// As written if it was written, else in the field's unit: "80 GiB".
    std::string spelled() const;
  }];
}

def Accel_ChoiceAttr : Accel_Attr<"Choice", "choice"> {
  let summary = "a value left open: the design space of one key";
  let description = [{
    `pow2` has the first and last power, `range` the first, last and optionally the step, `set` its members.

    ```mlir
    #accel.choice<pow2 [1, 4096]>
    #accel.choice<range [1, 64, 3]>
    #accel.choice<set ["output_stationary", "weight_stationary"]>
    ```
  }];
  let parameters = (ins StringRefParameter<"pow2, range or set">:$kind, "::mlir::ArrayAttr":$values);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Accel_ReferenceAttr : Accel_Attr<"Reference", "reference"> {
  let summary = "the value of another key, by its path: `tc.array.cols`";
  let parameters = (ins StringRefParameter<>:$path);
  let assemblyFormat = "`<` $path `>`";
}

def Accel_ApplyAttr : Accel_Attr<"Apply", "apply"> {
  let summary = "an operator of the expression language over quantities, references and other expressions";
  let description = [{
    ```mlir
    #accel.apply<"<=" [#accel.reference<"area">, #accel.quantity<600 mm2>]>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$function, "::mlir::ArrayAttr":$operands);
  let assemblyFormat = "`<` $function $operands `>`";
}

#endif
