// Requirements of a space that are limits of a number, as they are or relaxed.
#include "lib/exploration/space/DesignData.h"
#include "lib/exploration/space/IntervalArithmetic.h"

namespace accord {

std::optional<size_t> DesignSpace::Data::limitOf(size_t requirement) const {
  const DesignTerms::Term &term = terms[conditions[requirement]];
  const std::string &op = term.function;
  if (term.kind != DesignTerms::Kind::Apply || (op != "<=" && op != "<" && op != ">=" && op != ">"))
    return std::nullopt;
  auto isFixed = [&](auto &&self, int at) -> bool {
    const DesignTerms::Term &one = terms[at];
    return one.kind == DesignTerms::Kind::Number ||
           (one.kind == DesignTerms::Kind::Apply &&
            std::all_of(one.operands.begin(), one.operands.end(), [&](int operand) { return self(self, operand); }));
  };
  std::optional<size_t> limit;
  for (size_t side : {0, 1})
    if (isFixed(isFixed, term.operands[side])) {
      if (limit) // both: nothing of it is a choice
        return std::nullopt;
      limit = side;
    }
  if (!limit)
    return std::nullopt;
  DesignBox none{Design(parameters.size(), 0), Design(parameters.size(), 0)};
  double number = terms.nearly(term.operands[*limit], none, {}).low;
  return number > 0 && std::isfinite(number) ? limit : std::nullopt;
}

DesignInterval<double> DesignSpace::Data::satisfied(size_t requirement, const DesignBox &box,
                                                    const DesignFigures &figures) const {
  auto factor = relaxed.find(requirement);
  if (factor == relaxed.end())
    return terms.nearly(conditions[requirement], box, figures);
  const DesignTerms::Term &term = terms[conditions[requirement]];
  size_t side = limitOf(requirement).value();
  DesignInterval<double> sides[2];
  for (size_t i : {0, 1})
    sides[i] = terms.nearly(term.operands[i], box, figures);
  bool atMost = (term.function[0] == '<') == (side == 1);
  double times = atMost ? factor->second : 1 / factor->second;
  sides[side] = {sides[side].low * times, sides[side].high * times};
  return intervals::compared(term.function, sides[0], sides[1]);
}

std::optional<DesignLimit> DesignSpace::limit(size_t requirement, const Design &design, const Machine &machine) const {
  if (requirement >= requirements().size() || !data_->holds({design, design}))
    return std::nullopt;
  std::optional<size_t> side = data_->limitOf(requirement);
  if (!side)
    return std::nullopt;
  const DesignTerms::Term &term = data_->terms[data_->conditions[requirement]];
  DesignFigures figures{{machine.area.value, machine.area.value}, {machine.tdp.value, machine.tdp.value}};
  auto numberOf = [&](size_t operand) {
    return data_->terms.nearly(term.operands[operand], {design, design}, figures).low;
  };
  DesignLimit limit{term.function, numberOf(1 - *side), numberOf(*side), data_->terms[term.operands[*side]].dimension};
  if (*side == 0) // 50 mm2 >= area
    limit.op[0] = limit.op[0] == '<' ? '>' : '<';
  return limit;
}

void DesignSpace::relax(size_t requirement, double factor) {
  if (requirement >= requirements().size() || !data_->limitOf(requirement))
    return;
  if (factor == 1)
    data_->relaxed.erase(requirement);
  else
    data_->relaxed[requirement] = factor;
}

} // namespace accord
