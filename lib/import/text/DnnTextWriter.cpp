// The text of a sketch; copies that follow each other as one `repeat`.
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/import/text/RepeatNames.h"
#include "lib/import/text/Repeats.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace accord::import {

class DnnTextWriter {
public:
  DnnTextWriter(const DnnTextBuilder &textBuilder, bool repeats)
      : textBuilder(textBuilder), uses(textBuilder.values.size()) {
    for (Id id : textBuilder.losses)
      ++uses[at(id)];
    for (size_t i = uses.size(); i-- > 0;)
      if (uses[i])
        for (Id operand : textBuilder.values[i].operands)
          ++uses[at(operand)];
    // Inputs stand before everything else.
    for (bool inputs : {true, false})
      for (size_t i = 0; i < uses.size(); ++i)
        if (uses[i] && (textBuilder.values[i].call == "input") == inputs)
          order.push_back(static_cast<Id>(i));
    place.resize(uses.size(), -1);
    for (size_t i = 0; i < order.size(); ++i)
      place[at(order[i])] = i;
    for (const auto &value : textBuilder.values)
      names.push_back(value.name);
    handed.resize(uses.size());
    if (repeats)
      plan();
  }

  std::string text(const std::string &name, const std::vector<std::string> &documentation) {
    std::set<std::string> calls;
    for (Id id : order)
      calls.insert(value(id).call);
    std::map<std::string, std::string> stated; // by name
    for (const auto &[statement, called] : textBuilder.statements)
      if (calls.count(called))
        stated[called] = statement;
    for (const auto &[called, statement] : stated)
      out += fmt::format("operation {}{}\n\n", called, statement);
    for (const std::string &line : documentation)
      out += "/// " + line + "\n";
    out += fmt::format("model {}() {{\n", name);
    size_t next = 0;
    write(0, order.size(), next, {});
    std::string terms;
    size_t line = 0;
    for (Id id : textBuilder.losses) {
      std::string term = written(id);
      bool wraps = line + term.size() > 80;
      terms += (terms.empty() ? "" : wraps ? "\n      + " : " + ") + term;
      line = wraps ? term.size() : line + term.size() + 3;
    }
    return out + fmt::format("  loss {}\n}}\n", terms);
  }

private:
  using Id = DnnTextBuilder::Id;
  /// How a repeat is written.
  struct Loop {
    Repeat repeat;
    int outer = -1;                     ///< the loop it lies in
    std::string label;                  ///< repeat .. as label
    std::vector<std::string> variables; ///< for each that is carried
    std::vector<bool> declares;         ///< whether no statement before it declares it
  };

  static size_t at(int i) { return i; }
  const DnnTextBuilder::Value &value(Id id) const { return textBuilder.values[at(id)]; }
  const DnnTextBuilder::Value &step(int i) const { return value(order[at(i)]); }
  bool isInline(Id id) const {
    return !handed[at(id)] && (value(id).call == "piece" || (value(id).call == "reshape" && uses[at(id)] == 1));
  }

  // ---- Planning

  std::vector<Step> steps() const;
  void plan();
  void planVariables(Loop &loop, int owner);
  std::string labelOf(const Repeat &repeat);
  std::string localName(const Repeat &repeat, int i);

  // ---- Writing

  /// The steps from `from` to `to`; some of them are the next value of a variable.
  void write(int from, int to, size_t &next, const std::map<Id, std::string> &assigned);
  void write(size_t &next);
  void assign(const std::string &variable, Id id);
  void comment(const std::string &text) { out += "\n" + indent() + "// " + shown(text) + "\n"; }
  std::string indent() const { return std::string(2 * loopsOpen.size() + 2, ' '); }
  std::string written(Id id) const;
  std::string statement(Id id, size_t margin) const;
  std::string originOf(int i) const;

  const DnnTextBuilder &textBuilder;
  std::vector<int> uses;
  std::vector<Id> order;              ///< of what is written
  std::vector<int> place;             ///< of a value in `order`
  std::vector<std::string> names;     ///< as they are called where the text is now
  std::vector<bool> handed;           ///< from a copy to the next: has a statement and a name
  std::vector<Loop> loops;            ///< outer ones before inner ones
  std::vector<int> owner;             ///< the loop whose body a step is written in; -2: in none
  std::map<Id, std::string> declared; ///< the variable that the statement of a value declares
  /// What a loop gave last: the loop it lies in, and its variable.
  std::map<Id, std::pair<int, std::string>> handedOn;
  Names taken;              ///< outside of all loops, and variables
  std::vector<Names> local; ///< in the loops that are open
  Names labels;
  std::vector<size_t> loopsOpen;
  std::string out, last;
};

/// Whether an operation brings trained tensors along. What none is behind has no gradient: a first
/// copy that reads such a value does less than the others, and is none of them.
static bool isTrained(const std::string &call) {
  static const std::set<std::string> kWith = {"parameter",
                                              "positions",
                                              "linear",
                                              "conv1d",
                                              "conv2d",
                                              "conv3d",
                                              "conv_transpose1d",
                                              "embedding",
                                              "embedding_bag",
                                              "conv_transpose2d",
                                              "conv_transpose3d",
                                              "depthwise_conv2d",
                                              "layer_norm",
                                              "rms_norm",
                                              "batch_norm",
                                              "group_norm",
                                              "prelu",
                                              "lstm",
                                              "gru",
                                              "moe"};
  return kWith.count(call);
}

std::vector<Step> DnnTextWriter::steps() const {
  std::map<std::string, uint32_t> kinds, types, words;
  auto number = [](std::map<std::string, uint32_t> &all, const std::string &key) {
    return all.emplace(key, static_cast<uint32_t>(all.size()) + 1).first->second;
  };
  std::vector<Step> steps;
  std::vector<bool> ofBatch, varies;
  for (Id id : order) {
    const DnnTextBuilder::Value &one = value(id);
    Step step;
    bool input = one.call == "input", batch = input, trained = isTrained(one.call);
    std::string key =
        fmt::format("{}({}){}{}", one.call, fmt::join(one.attributes, ", "), one.byName, listOf(one.shape));
    for (Id operand : one.operands) {
      step.operands.push_back(place[at(operand)]);
      key += listOf(value(operand).shape);
      batch = batch || ofBatch[at(step.operands.back())];
      trained = trained || varies[at(step.operands.back())];
    }
    ofBatch.push_back(batch);
    varies.push_back(trained);
    step.kind = number(kinds, input ? one.name : key);
    if (batch && !one.shape.empty())
      step.type = number(types, fmt::format("{}{}{}", listOf(one.shape), textBuilder.isInteger(id), trained));
    step.shared = one.call == "parameter";
    step.lines = input || isInline(id) ? 0 : 1;
    for (llvm::StringRef rest = one.name; !rest.empty();) {
      llvm::StringRef word;
      std::tie(word, rest) = rest.split('_');
      step.path.push_back(number(words, word.str()));
    }
    steps.push_back(std::move(step));
  }
  for (Id id : textBuilder.losses)
    steps[at(place[at(id)])].kept = true;
  return steps;
}

void DnnTextWriter::plan() {
  owner.assign(order.size(), -1);
  for (Repeat &repeat : findRepeats(steps())) {
    Loop loop;
    loop.outer = owner[at(repeat.start)];
    loop.repeat = std::move(repeat);
    const Repeat &r = loop.repeat;
    std::fill(owner.begin() + r.start, owner.begin() + r.end(), -2);
    std::fill(owner.begin() + r.start + r.period, owner.begin() + r.start + ptrdiff_t(2) * r.period,
              static_cast<int>(loops.size()));
    for (const Repeat::Carried &one : r.carried)
      for (int copy = 0; copy < r.count; ++copy)
        handed[at(order[at(r.start + copy * r.period + one.place)])] = true;
    loops.push_back(std::move(loop));
  }
  for (size_t i = 0; i < order.size(); ++i)
    if (owner[i] == -1)
      taken.reserve(step(i).name);
  for (Loop &loop : loops) {
    loop.label = labelOf(loop.repeat);
    planVariables(loop, loop.outer);
  }
}

/// The variables of a loop: declared where the first copy's values are made if nothing else reads
/// these; those of a loop before it that nothing else reads either; else of their own.
void DnnTextWriter::planVariables(Loop &loop, int outer) {
  const Repeat &r = loop.repeat;
  for (const Repeat::Carried &one : r.carried) {
    Id initial = order[at(one.initial)];
    bool alone = uses[at(initial)] == one.reads;
    std::string variable;
    if (auto found = handedOn.find(initial); found != handedOn.end() && found->second.first == outer)
      variable = alone ? found->second.second : "";
    // The whole of a body: what it hands on is what this loop does.
    const Repeat *around = outer < 0 ? nullptr : &loops[at(outer)].repeat;
    for (size_t k = 0; around && k < around->carried.size(); ++k)
      if (const Repeat::Carried &its = around->carried[k];
          one.initial == around->start + its.place && one.reads == its.reads &&
          r.end() - r.period + one.place == around->start + around->period + its.place)
        variable = loops[at(outer)].variables[k];
    bool known = !variable.empty();
    if (!known) {
      std::string name = "x";
      if (r.carried.size() > 1)
        name = localName(r, r.start + r.period + one.place);
      else if (textBuilder.names.count("x"))
        name = "h";
      variable = taken.uniqueName(name);
      known = alone && owner[at(one.initial)] == outer && !isInline(initial) && value(initial).call != "input";
      if (known)
        declared[initial] = variable;
    }
    handedOn[order[at(r.end() - r.period + one.place)]] = {outer, variable};
    loop.variables.push_back(variable);
    loop.declares.push_back(!known);
  }
}

/// `layer` of encoder_layer_0_query and encoder_layer_1_query; with more words where that is taken.
std::string DnnTextWriter::labelOf(const Repeat &repeat) {
  std::map<std::string, int> votes;
  for (int i = repeat.start; i < repeat.start + repeat.period; ++i)
    if (std::string one = scopeOf(step(i).name, step(i + repeat.period).name); !one.empty())
      ++votes[one];
  std::string scope = "block";
  int max = 0;
  for (const auto &[words, many] : votes)
    if (many > max) {
      scope = words;
      max = many;
    }
  return labels.label(scope);
}

std::string DnnTextWriter::localName(const Repeat &repeat, int i) {
  return nameInCopy(step(i).name, step(i - repeat.period).name);
}

/// Where a step is from, without what tells the copies apart and what is before it.
std::string DnnTextWriter::originOf(int i) const {
  if (loopsOpen.empty())
    return step(i).origin;
  return placeInCopy(step(i).origin, step(i - loops[loopsOpen.back()].repeat.period).origin);
}

void DnnTextWriter::write(int from, int to, size_t &next, const std::map<Id, std::string> &assigned) {
  for (int i = from; i < to; ++i) {
    if (next < loops.size() && loops[next].repeat.start == i) {
      const Loop &loop = loops[next];
      i = loop.repeat.end() - 1;
      write(next);
      for (auto [k, one] : llvm::enumerate(loop.repeat.carried)) {
        Id id = order[at(loop.repeat.end() - loop.repeat.period + one.place)];
        if (auto found = assigned.find(id); found != assigned.end())
          assign(found->second, id);
      }
      continue;
    }
    Id id = order[at(i)];
    if (value(id).call == "input")
      out += fmt::format("  input {} : {}{}\n", names[at(id)], value(id).element, listOf(value(id).shape));
    if (value(id).call == "input" || isInline(id))
      continue;
    if (std::string origin = originOf(i); origin != last && !origin.empty()) {
      comment(origin);
      last = origin;
    }
    auto variable = declared.find(id);
    auto carried = assigned.find(id);
    if (carried != assigned.end()) {
      std::string text = statement(id, carried->second.size());
      out += fmt::format("{}{} = {}\n", indent(), carried->second, text);
      names[at(id)] = carried->second;
      continue;
    }
    std::string name = names[at(id)];
    if (variable != declared.end())
      name = variable->second;
    else if (!loopsOpen.empty())
      name = local.back().uniqueName(localName(loops[loopsOpen.back()].repeat, i));
    out += fmt::format("{}{} {} = {}\n", indent(), variable != declared.end() ? "var" : "let", name,
                       statement(id, name.size()));
    names[at(id)] = name;
  }
}

void DnnTextWriter::assign(const std::string &variable, Id id) {
  if (std::string text = written(id); text != variable)
    out += fmt::format("{}{} = {}\n", indent(), variable, text);
  names[at(id)] = variable;
}

void DnnTextWriter::write(size_t &next) {
  size_t index = next++;
  const Loop &loop = loops[index];
  const Repeat &r = loop.repeat;
  int body = r.start + r.period, end = body + r.period;
  std::string first = originOf(r.start), where = placesOf(first, originOf(r.end() - r.period));
  if (where.empty())
    where = first;
  if (where != last && !where.empty())
    comment(where);
  last = where;
  for (auto [k, one] : llvm::enumerate(r.carried)) {
    if (loop.declares[k])
      out += fmt::format("{}var {} = {}\n", indent(), loop.variables[k], written(order[at(one.initial)]));
    names[at(order[at(r.start + one.place)])] = loop.variables[k];
  }
  out += fmt::format("{}repeat {} as {} {{\n", indent(), r.count, loop.label);
  loopsOpen.push_back(index);
  // A name in a body may be one outside, but not one that the body reads; nor the variables of
  // this loop, those around it and those in it.
  Names inside;
  auto takeVariables = [&](const Loop &one) {
    llvm::for_each(one.variables, [&](const std::string &variable) { inside.reserve(variable); });
  };
  for (size_t open : loopsOpen)
    takeVariables(loops[open]);
  for (size_t inner = next; inner < loops.size() && loops[inner].repeat.start < end; ++inner)
    takeVariables(loops[inner]);
  for (int i = body; i < end; ++i)
    for (Id operand : step(i).operands)
      if (place[at(operand)] < body)
        inside.reserve(names[at(operand)]);
  local.push_back(std::move(inside));
  // Where a step of the body is written: a loop in it is written as a whole, a view where it is
  // read.
  std::vector<int> unit(at(r.period));
  std::iota(unit.begin(), unit.end(), body);
  for (size_t inner = next; inner < loops.size() && loops[inner].repeat.start < end; ++inner)
    if (const Repeat &its = loops[inner].repeat; loops[inner].outer == static_cast<int>(index))
      std::fill(unit.begin() + (its.start - body), unit.begin() + (its.end() - body), its.end() - 1);
  std::map<Id, int> lastRead; // of what the copy before gave
  for (int i = end; i-- > body;)
    for (Id operand : step(i).operands) {
      int from = place[at(operand)];
      if (from >= r.start && from < body) {
        auto [found, isNew] = lastRead.try_emplace(operand, unit[at(i - body)]);
        found->second = std::max(found->second, unit[at(i - body)]);
      } else if (from >= body && isInline(operand)) {
        unit[at(from - body)] = std::max(unit[at(from - body)], unit[at(i - body)]);
      }
    }
  // A variable changes where its next value is made, or at the end if the old one is read until
  // then.
  std::map<Id, std::string> assigned, atEnd;
  for (auto [k, one] : llvm::enumerate(r.carried)) {
    bool early = lastRead[order[at(r.start + one.place)]] <= unit[at(one.place)];
    (early ? assigned : atEnd)[order[at(body + one.place)]] = loop.variables[k];
  }
  write(body, end, next, assigned);
  for (const auto &[id, variable] : atEnd)
    assign(variable, id);
  loopsOpen.pop_back();
  local.pop_back();
  out += indent() + "}\n";
  for (auto [k, one] : llvm::enumerate(r.carried))
    names[at(order[at(r.end() - r.period + one.place)])] = loop.variables[k];
  // What follows says where it is from, if that is another place.
  if (where != first)
    last.clear();
}

std::string DnnTextWriter::written(Id id) const {
  if (!isInline(id))
    return names[at(id)];
  if (value(id).call == "piece")
    return fmt::format("{}[{}]", names[at(value(id).operands[0])], value(id).attributes[0]);
  return statement(id, 0);
}

std::string DnnTextWriter::statement(Id id, size_t margin) const {
  const DnnTextBuilder::Value &one = value(id);
  std::vector<std::string> parts;
  for (Id operand : one.operands)
    parts.push_back(written(operand));
  if (one.call.size() == 1)
    return fmt::format("{} {} {}", parts[0], one.call, parts[1]);
  if (one.call == "piece")
    return fmt::format("{}[{}]", parts[0], one.attributes[0]);
  if (!one.byName.empty()) {
    std::string tied = fmt::format("{} = {}", one.byName, parts.back());
    parts.pop_back();
    parts.insert(parts.end(), one.attributes.begin(), one.attributes.end());
    parts.push_back(tied);
  } else {
    parts.insert(parts.end(), one.attributes.begin(), one.attributes.end());
  }
  std::string text = one.call + "(";
  // Nested calls stay on their line.
  bool breaks = !isInline(id);
  size_t line = text.size() + margin + 2 * loopsOpen.size() + 10;
  for (const std::string &part : parts) {
    if (breaks && line + part.size() > 100 && line > 40) {
      text += "\n";
      line = 4;
    }
    text += part + (&part == &parts.back() ? "" : ", ");
    line += part.size() + 2;
  }
  return text + ")";
}

std::string DnnTextBuilder::text(const std::string &name, const std::vector<std::string> &documentation,
                                 bool repeats) const {
  return DnnTextWriter(*this, repeats).text(name, documentation);
}

} // namespace accord::import
