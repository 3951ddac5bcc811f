// The one builder of an operation, from its results and arguments. ODS by itself writes up to twelve for each, which nobody calls, and
// which are half of what such a dialect takes to compile.
#ifndef ACCORD_BUILDER
#define ACCORD_BUILDER
include "mlir/IR/OpBase.td"

// A parameter of the builder and what is done with it: argument number `i` of `of`, or a result if `add` is "addTypes".
class Accord_Parameter<dag of, int i, string add, bit plain> {
  defvar attribute = !getdagarg<Attr>(of, i);
  defvar is = !initialized(attribute);
  defvar call = !if(is, attribute.constBuilderCall, ?);
  bit value = !if(!and(plain, is), !if(!initialized(call), !ne(attribute.returnType, attribute.storageType), 0), 0);
  string name = !getdagname(of, i);
  string one = !if(!eq(add, "addTypes"), "::mlir::Type", "::mlir::Value");
  string type = !cond(value : attribute.returnType, is : attribute.storageType,
                      !initialized(!getdagarg<Variadic>(of, i)) : one # "Range", true : one);
  string line = !cond(
      is : "$_state.getOrAddProperties<Properties>()." # name # " = " # !if(value, !subst("$0", name, call), name) # ";",
      !initialized(!getdagarg<Optional>(of, i)) : "if (" # name # ") $_state." # add # "(" # name # ");",
      true : "$_state." # add # "(" # name # ");");
}

// Takes the types of the results, the operands and the attributes, in this order and by these names; null for those that are
// optional. Attributes are values (`int64_t`) where `plain`, unless they are optional, else they are attributes (`IntegerAttr`).
class Accord_Builder<dag results, dag arguments, int regions, bit plain> {
  list<Accord_Parameter> parameters = !listconcat(
      !foreach(i, !range(!size(results)), Accord_Parameter<results, i, "addTypes", plain>),
      !foreach(i, !range(!size(arguments)), Accord_Parameter<arguments, i, "addOperands", plain>));
  OpBuilder builder = OpBuilder<
      !dag(ins, !foreach(p, parameters, p.type), !foreach(p, parameters, p.name)),
      !interleave(!listconcat(!foreach(p, parameters, p.line), !listsplat("$_state.addRegion();", regions)), "\n")>;
}
#endif
