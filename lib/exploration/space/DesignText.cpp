// A design as a description.
#include "dialects/accel/BaseUnits.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/exploration/space/DesignData.h"
#include "lib/machine/translate/FromMicroarchitecture.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c == '\n' || c == '\r' ? ' ' : c;
  return out + "\"";
}

/// Words that are read back as this very quantity.
std::string written(const Quantity &quantity, llvm::StringRef text) {
  for (const std::string &one : {text.str(), quantity.print()}) {
    if (one.empty() || one[0] == '-' || one.find_first_of("()+\"\n") != std::string::npos)
      continue;
    if (auto read = parseQuantity(one); read && *read == quantity)
      return one;
  }
  std::string units = accel::baseUnits(quantity.dimension);
  std::string out =
      fmt::format("{} / {}", digitsOf(quantity.value.numerator()), digitsOf(quantity.value.denominator()));
  if (quantity.dimension.dimensionless())
    return "(" + out + ")";
  return fmt::format("({}) * {}", out, units[0] == '/' ? "(1 / (1 " + units.substr(1) + "))" : "1 " + units);
}

class Writer {
public:
  std::string out;
  /// What stands after a value: "// …".
  std::map<std::pair<mlir::Operation *, std::string>, std::string> comments;

  void line(int depth, const std::string &text) {
    out += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  static std::string sourceIn(Attribute value) {
    if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
      return quantity.getSource().str();
    if (auto map = dyn_cast<DictionaryAttr>(value))
      for (NamedAttribute member : map)
        if (std::string source = sourceIn(member.getValue()); !source.empty())
          return source;
    return "";
  }

  std::string value(Attribute value) {
    if (auto quantity = dyn_cast<accel::QuantityAttr>(value))
      return written(quantity.quantity(), quantity.getText());
    if (auto array = dyn_cast<ArrayAttr>(value)) {
      bool shape = llvm::all_of(array, llvm::IsaPred<IntegerAttr>);
      std::string all;
      for (Attribute element : array)
        all += (all.empty() ? "" : shape ? " x " : ", ") + this->value(element);
      return shape ? all : "{" + all + "}";
    }
    if (isa<accel::ApplyAttr, accel::ReferenceAttr>(value))
      return expression(value);
    if (auto map = dyn_cast<DictionaryAttr>(value)) {
      std::string all;
      for (NamedAttribute member : map)
        all += (all.empty() ? "" : ", ") + member.getName().str() + ": " + this->value(member.getValue());
      return "{" + all + "}";
    }
    return spellingOf(value);
  }

  void keys(int depth, mlir::Operation *op, DictionaryAttr entries, const accel::BlockSchema *schema) {
    std::vector<NamedAttribute> all(entries.begin(), entries.end());
    auto rank = [&](NamedAttribute entry) { // as the documentation has them
      return schema ? schema->findKey(entry.getName()) : nullptr;
    };
    std::sort(all.begin(), all.end(), [&](NamedAttribute a, NamedAttribute b) {
      return std::pair(rank(a), a.getName().getValue()) < std::pair(rank(b), b.getName().getValue());
    });
    for (NamedAttribute entry : all) {
      std::string key = entry.getName().str();
      auto inner = dyn_cast<DictionaryAttr>(entry.getValue());
      if (inner && (key == "sparse" || key == "dataflow")) {
        nested(depth, key, inner);
        continue;
      }
      bool text = key == "cost_model" || key == "model";
      std::string source = sourceIn(entry.getValue());
      auto comment = comments.find({op, key});
      line(depth, key + " = " +
                      (text ? quoted(cast<StringAttr>(entry.getValue()).getValue()) : value(entry.getValue())) +
                      (source.empty() ? "" : " source " + quoted(source)) +
                      (comment == comments.end() ? "" : " // " + comment->second));
    }
  }

  /// `sparse nm(2, 4) { … }`, `sparse { … }`, `dataflow { … }`.
  void nested(int depth, const std::string &kind, DictionaryAttr entries) {
    std::string inner;
    for (NamedAttribute entry : entries)
      if (!llvm::is_contained({"n", "m", "pattern"}, entry.getName().getValue()))
        inner += (inner.empty() ? " " : ", ") + entry.getName().str() + " = " + value(entry.getValue());
    std::string pattern =
        entries.contains("pattern") ? fmt::format(" nm({}, {})", value(entries.get("n")), value(entries.get("m"))) : "";
    line(depth, fmt::format("{}{} {{{} }}", kind, pattern, inner));
  }

  /// `table from "…" { buffer = "…" }`, `table buffer from "…"`.
  void table(DictionaryAttr of) {
    auto text = [&](llvm::StringRef key) {
      auto value = of.getAs<StringAttr>(key);
      return value ? value.str() : "";
    };
    std::string inner;
    if (auto names = of.getAs<DictionaryAttr>("names"))
      for (NamedAttribute name : names)
        inner += fmt::format("{} {} = {}", inner.empty() ? "" : ",", name.getName().str(),
                             quoted(cast<StringAttr>(name.getValue()).str()));
    std::string part = text("of");
    line(1, fmt::format("table {}from {}{}", part.empty() ? "" : part + " ", quoted(text("file")),
                        inner.empty() ? "" : " {" + inner + " }"));
  }

  void tables(ArrayAttr all) {
    for (Attribute one : all ? all.getValue() : llvm::ArrayRef<Attribute>())
      table(cast<DictionaryAttr>(one));
  }

  /// An expression with brackets around every operation.
  std::string expression(Attribute of) {
    auto apply = dyn_cast<accel::ApplyAttr>(of);
    if (auto reference = dyn_cast<accel::ReferenceAttr>(of))
      return reference.getPath().str();
    if (!apply) {
      std::string words = value(of);
      return words.find(" * ") == std::string::npos ? words : "(" + words + ")";
    }
    std::vector<std::string> operands;
    for (Attribute operand : apply.getOperands())
      operands.push_back(isa<accel::ApplyAttr>(operand) && !isCall(operand) ? "(" + expression(operand) + ")"
                                                                            : expression(operand));
    std::string function = apply.getFunction().str();
    if (isCall(of))
      return fmt::format("{}({})", function, fmt::join(operands, ", "));
    if (operands.size() == 1)
      return function + " " + operands[0];
    return fmt::format("{}", fmt::join(operands, " " + function + " "));
  }
  static bool isCall(Attribute of) {
    llvm::StringRef function = cast<accel::ApplyAttr>(of).getFunction();
    return !function.empty() && llvm::isAlpha(function[0]) && function != "and" && function != "or" &&
           function != "not";
  }

  /// `microarchitecture { … }` of a core: parts under the names that arrays gave them.
  void microarchitecture(int depth, accel::MicroarchitectureOp op) {
    line(depth, "microarchitecture {");
    for (const auto &[place, comment] : comments)
      if (place.first == op && llvm::StringRef(place.second).starts_with("parameter "))
        line(depth + 1, "// " + comment);
    keys(depth + 1, op, op.getEntries(), accel::findSchema("microarchitecture"));
    std::map<std::string, std::vector<accel::PartOp>> operations; // by unit
    for (auto part : op.getBody().getOps<accel::PartOp>())
      if (part.getKind() == "operation")
        operations[spellingOf(part.getEntries().get("unit"))].push_back(part);
    for (auto part : op.getBody().getOps<accel::PartOp>()) {
      if (part.getKind() == "operation")
        continue;
      llvm::StringRef name = part.getSymName();
      name.consume_front("opcode.");
      const std::string count = part.getCountAttr() ? "[" + spellingOf(part.getCountAttr()) + "]" : "";
      auto comment = comments.find({part, "count"});
      line(depth + 1, fmt::format("{} {}{} {{{}", part.getKind().str(), name.str(), count,
                                  comment == comments.end() ? "" : " // " + comment->second));
      keys(depth + 2, part, part.getEntries(), accel::findSchema("part", part.getKind()));
      for (accel::PartOp operation : operations[part.getSymName().str()])
        line(depth + 2, cyclesOf(operation));
      line(depth + 1, "}");
    }
    line(depth, "}");
  }
  /// `operation mac { latency = 4 cycles }`
  std::string cyclesOf(accel::PartOp operation) {
    std::string inner;
    for (llvm::StringRef key : {"latency", "interval"})
      if (Attribute cycles = operation.getEntries().get(key))
        inner += fmt::format("{}{} = {}", inner.empty() ? "" : ", ", key.str(), expression(cycles));
    const std::string name = spellingOf(operation.getEntries().get("opcode"));
    return fmt::format("operation {} {{ {} }}", llvm::StringRef(name).split('.').second.str(), inner);
  }

  std::string rule(mlir::Operation *op) {
    auto words = [&](StringAttr label, Attribute condition, StringAttr text) {
      return (label ? label.str() + ": " : "") + (condition ? expression(condition) : text.str());
    };
    if (auto require = dyn_cast<accel::RequireOp>(op))
      return "require " + words(require.getLabelAttr(), require.getConditionAttr(), require.getTextAttr());
    auto prefer = cast<accel::PreferOp>(op);
    return "prefer " + words(prefer.getLabelAttr(), prefer.getConditionAttr(), prefer.getTextAttr()) + " weight " +
           value(prefer.getWeightAttr());
  }

  void path(accel::PathOp path) {
    std::string all;
    for (Attribute stop : path.getStops()) {
      auto names = cast<ArrayAttr>(stop);
      all += (all.empty() ? "path " : " -> ") + (names.size() == 1 ? spellingOf(names[0]) : value(names));
    }
    line(1, all);
  }
};

} // namespace

std::string DesignMachines::text(const Design &chosen) {
  DesignBox box{chosen, chosen};
  auto made = machine(box, BoxCorner::Design);
  Writer writer;
  std::scoped_lock lock(reading);
  for (DesignBlock *block : blocks()) {
    if (auto error = substitute(*block, box, BoxCorner::Design))
      writer.line(0, "// " + error->message);
    for (const DesignSite &site : block->sites) {
      if (isa<accel::PartOp>(site.place.op) && !site.parameter) // what all of them follow from is said once
        continue;
      std::string &comment = writer.comments[{site.place.op, site.place.key}];
      comment += comment.empty() ? "" : "; ";
      if (!site.parameter) {
        comment += site.place.path + " follows from other choices";
        continue;
      }
      const DesignParameter &parameter = design.parameters[*site.parameter];
      comment +=
          fmt::format("{} = {}, chosen of {} from {} to {}", parameter.name, parameter.labels[chosen[*site.parameter]],
                      parameter.labels.size(), parameter.labels.front(), parameter.labels.back());
    }
  }
  for (auto [index, place] : llvm::enumerate(design.places))
    if (place.declared) {
      auto core = SymbolTable::lookupSymbolIn(accelerator, llvm::StringRef(place.path).split('.').first);
      const DesignParameter &parameter = design.parameters[index];
      writer.comments[{microarchitectureOf(cast<accel::CoreOp>(core)), place.key}] =
          fmt::format("{} = {}, chosen of {} from {} to {}", parameter.name, parameter.labels[chosen[index]],
                      parameter.labels.size(), parameter.labels.front(), parameter.labels.back());
    }
  writer.line(0, "/// One design of '" + design.name + "'.");
  writer.line(0, "accelerator " + design.name + " {");
  writer.keys(1, accelerator, accelerator.getEntries(), accel::findSchema("accelerator"));
  if (auto from = accelerator->getAttrOfType<StringAttr>("efficiency_from"))
    writer.line(1, "efficiency from " + quoted(from.getValue()));
  writer.tables(accelerator->getAttrOfType<ArrayAttr>("tables"));
  std::string tdp;
  if (auto *one = made.get(); one && !design.paths.count("power.tdp") && one->tdp.value > 0)
    tdp = fmt::format("tdp = {} W // everything at its peak: follows from the energies", one->tdp.value);
  for (mlir::Operation &op : accelerator.getBody().front()) {
    auto block = [&](const std::string &title, DictionaryAttr entries, const accel::BlockSchema *schema,
                     const std::string &more, accel::MicroarchitectureOp detailed = {}) {
      auto comment = writer.comments.find({&op, "count"});
      writer.line(1, title + " {" + (comment == writer.comments.end() ? "" : " // " + comment->second));
      writer.keys(2, &op, entries, schema);
      if (!more.empty())
        writer.line(2, more);
      if (detailed)
        writer.microarchitecture(2, detailed);
      writer.line(1, "}");
    };
    if (auto memory = dyn_cast<accel::MemoryOp>(op)) {
      block(fmt::format("memory {} : {}", memory.getSymName().str(), memory.getKind().str()), memory.getEntries(),
            accel::findSchema("memory", memory.getKind()), "");
    } else if (auto core = dyn_cast<accel::CoreOp>(op)) {
      std::string count = core.getCountAttr() ? "[" + spellingOf(core.getCountAttr()) + "]" : "";
      block(fmt::format("core {}{} : {}", core.getSymName().str(), count, core.getKind().str()), core.getEntries(),
            accel::findSchema("core", core.getKind()), "", microarchitectureOf(core));
    } else if (auto power = dyn_cast<accel::PowerOp>(op)) {
      block("power", power.getEntries(), accel::findSchema("power"), tdp);
      tdp.clear();
    } else if (auto area = dyn_cast<accel::AreaOp>(op)) {
      if (auto model = area.getEntries().getAs<StringAttr>("model"); model && area.getEntries().size() == 1)
        writer.line(1, "area model = " + quoted(model.getValue()));
      else
        block("area", area.getEntries(), accel::findSchema("area"), "");
    } else if (auto path = dyn_cast<accel::PathOp>(op)) {
      writer.path(path);
    } else if (auto price = dyn_cast<accel::PriceOp>(op)) {
      auto per = price.getEntries().getAs<FlatSymbolRefAttr>("per");
      writer.line(1, "price = " + writer.value(price.getEntries().get("amount")) +
                         (per ? " per " + per.getValue().str() : ""));
    } else if (isa<accel::RequireOp, accel::PreferOp>(op)) {
      writer.line(1, writer.rule(&op));
    }
  }
  if (!tdp.empty())
    writer.line(1, "power {\n    " + tdp + "\n  }");
  writer.line(0, "}");
  return writer.out;
}

} // namespace accord
