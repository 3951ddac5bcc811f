#include "lib/language/machines/MachineElaborator.h"

using namespace mlir;

namespace accord {

void MachineElaborator::price(const ast::KeyValue &pair, const ast::Entry &entry) {
  SchemaReader keys = reader("price");
  ast::KeyValue amount{{"amount", pair.key.range}, nullptr};
  Constant value = evaluate(*pair.value, diags, lookup);
  if (value.failed())
    return;
  auto *q = value.as<Quantity>();
  Dimension money = Dimension::of(Base::Dollar), rent = money / Dimension::of(Base::Second);
  if (!q || (q->dimension != money && q->dimension != rent)) {
    diags
        .error(q && !q->dimensionless() ? Code::WrongDimension : Code::MissingUnit, pair.value->range,
               fmt::format("a price is money or money per time, not {}", value.describe()))
        .help("for example: price = 4.10 USD/h per gpu");
    return;
  }
  keys.set("amount",
           accel::QuantityAttr::get(&context, *q, textOf(pair.value->range),
                                    entry.clauses().source ? entry.clauses().source->value : ""),
           pair.key.range);
  if (entry.clauses().per)
    if (auto *reference = entry.clauses().per->as<ast::Reference>())
      keys.set("per", FlatSymbolRefAttr::get(&context, reference->name), entry.clauses().per->range);
  accel::PriceOp::create(builder, keys.location(pair.key.range), keys.dictionary());
}

void MachineElaborator::device(const ast::Node &node) {
  if (node.name.empty() || node.type.empty()) {
    diags.error(Code::SyntaxError, node.kind.range, "a device has a name and an accelerator")
        .help("for example: device gpu[8] : a100_80g");
    return;
  }
  declare(node.name);
  if (!isAccelerator(node.type.text))
    diags
        .error(Code::UnknownName, node.type.range,
               fmt::format("no accelerator '{}' is declared or imported", node.type.text))
        .help(fmt::format("import the file that declares it"));
  for (const ast::Entry &entry : node.entries)
    if (auto *nested = entry.as<ast::Node>(); nested && nested->kind.text == "level")
      powerLevel(*nested);
    else
      unknownEntry(nested                      ? nested->kind
                   : entry.as<ast::KeyValue>() ? entry.as<ast::KeyValue>()->key
                                               : node.kind,
                   {"level"}, "a device");
  auto device =
      accel::DeviceOp::create(builder, at(node.name.range), builder.getStringAttr(node.name.text), count(node),
                              FlatSymbolRefAttr::get(&context, node.type.text), builder.getDictionaryAttr({}));
  setLevels(device);
}

void MachineElaborator::network(const ast::Node &node) {
  if (node.name.empty()) {
    diags.error(Code::SyntaxError, node.kind.range, "a network has a name");
    return;
  }
  declare(node.name);
  // The topology decides which keys there are: it is read first.
  std::string topology;
  const CallValue *call = nullptr;
  Constant value;
  for (const ast::Entry &entry : node.entries)
    if (auto *pair = entry.as<ast::KeyValue>(); pair && pair->key.text == "topology") {
      value = evaluate(*pair->value, diags, lookup);
      call = value.as<CallValue>();
      topology = call ? call->name : value.as<Word>() ? value.as<Word>()->text : "";
    }
  const accel::BlockSchema *schema = topology.empty() ? nullptr : accel::findSchema("network", topology);
  SchemaReader keys(context, diags, lookup, schema ? *schema : *accel::findSchema("network"));
  for (const ast::Entry &entry : node.entries) {
    auto *pair = entry.as<ast::KeyValue>();
    if (pair && pair->key.text == "topology" && call && schema)
      keys.set("topology", builder.getStringAttr(topology), pair->key.range);
    else if (pair)
      keys.read(*pair, entry);
  }
  if (call && schema) {
    llvm::SmallVector<Attribute> shape;
    for (auto &[name, argument] : call->arguments) {
      auto *q = argument->as<Quantity>();
      auto n = q && q->dimensionless() ? q->toInt64() : std::nullopt;
      if (name.empty() && n)
        shape.push_back(builder.getI64IntegerAttr(*n));
      else if (const auto *key = name.empty() ? nullptr : schema->findKey(name);
               key && key->kind == accel::ValueKind::Integer && n)
        keys.set(name, builder.getI64IntegerAttr(*n), argument->range);
      else if (key && key->kind == accel::ValueKind::Quantity && q)
        keys.set(name, accel::QuantityAttr::get(&context, *q, textOf(argument->range)), argument->range);
      else
        diags
            .error(Code::BadTopology, argument->range,
                   fmt::format("this does not belong into the topology '{}'", topology))
            .help("for example: torus(4, 4, 4), fat_tree(oversubscription = 2)");
    }
    if (!shape.empty())
      keys.set("shape", builder.getArrayAttr(shape), value.range);
  }
  keys.finish(node.name.range);
  accel::NetworkOp::create(builder, keys.location(node.name.range), node.name.text, keys.dictionary());
}

void MachineElaborator::server(const ast::Node &node, const ast::Entry &entry) {
  if (node.name.empty()) {
    diags.error(Code::SyntaxError, node.kind.range, "a server has a name").help("for example: server dgx[128] { … }");
    return;
  }
  declare(node.name);
  SchemaReader keys = reader("server");
  auto op = accel::ServerOp::create(builder, at(node.name.range), node.name.text, count(node));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&op.getBody().front());
  // Each server may call its devices `gpu`: its names are its own.
  auto outside = std::exchange(names, {});
  for (const ast::Entry &inner : node.entries) {
    auto *pair = inner.as<ast::KeyValue>();
    if (pair && pair->key.text != "price")
      keys.read(*pair, inner);
    else
      clusterEntry(inner, true);
  }
  names = std::move(outside);
  op.setEntriesAttr(keys.dictionary());
  op->setLoc(keys.location(node.name.range));
}

void MachineElaborator::clusterEntry(const ast::Entry &entry, bool insideServerBlock) {
  std::vector<std::string> known{"server", "device", "host", "network", "price", "require", "prefer", "framework"};
  if (!insideServerBlock)
    known.push_back("efficiency");
  auto *pair = entry.as<ast::KeyValue>();
  auto *node = entry.as<ast::Node>();
  if (pair && pair->key.text == "price")
    price(*pair, entry);
  else if (auto *r = entry.as<ast::Rule>())
    rule(*r, entry);
  else if (node && node->kind.text == "server" && !insideServerBlock)
    server(*node, entry);
  else if (node && node->kind.text == "device")
    device(*node);
  else if (node && node->kind.text == "host")
    plainBlock(*node, entry);
  else if (node && node->kind.text == "network")
    network(*node);
  else if (pair) {
    std::vector<std::string> keys = known;
    if (!insideServerBlock)
      for (llvm::StringRef key : accel::findSchema("cluster")->keyNames())
        keys.push_back(key.str());
    diags.error(Code::UnknownKey, pair->key.range, fmt::format("a cluster has no '{}'", pair->key.text))
        .suggest(nearest(pair->key.text, keys));
  } else if (node)
    unknownEntry(node->kind, known, insideServerBlock ? "a server" : "a cluster");
}

accel::ClusterOp MachineElaborator::cluster(llvm::function_ref<bool(llvm::StringRef)> known) {
  isAccelerator = known;
  size_t errorsBefore = diags.errors();
  auto op = accel::ClusterOp::create(builder, at(declaration.name.range), declaration.name.text);
  self = op;
  builder.setInsertionPointToEnd(&op.getBody().front());
  SchemaReader keys = reader("cluster");
  for (const ast::Entry &entry : declaration.entries)
    if (auto *pair = entry.as<ast::KeyValue>(); pair && accel::findSchema("cluster")->findKey(pair->key.text))
      keys.read(*pair, entry);
    else if (auto *node = entry.as<ast::Node>(); node && node->kind.text == "efficiency")
      calibration(*node, entry, keys);
    else
      clusterEntry(entry, false);
  op.setEntriesAttr(keys.dictionary());
  op->setLoc(keys.location(declaration.name.range));
  return finish(op, errorsBefore);
}

accel::ClusterOp elaborateCluster(const ast::Declaration &declaration, ModuleOp module, Diagnostics &diags,
                                  const Lookup &globals, llvm::function_ref<bool(llvm::StringRef)> isAccelerator) {
  return MachineElaborator(declaration, module, diags, globals).cluster(isAccelerator);
}

} // namespace accord
