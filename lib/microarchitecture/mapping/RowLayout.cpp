#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/Formula.h"
#include "lib/microarchitecture/mapping/RowOperation.h"
#include <algorithm>

namespace accord::microarchitecture {

RowLayout rowLayout(const RowOperation &operation, const RowSchedule &schedule) {
  RowLayout made;
  for (const ContractionTensor &tensor : operation.tensors) {
    std::vector<size_t> order;
    std::optional<size_t> last;
    for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
      const auto &terms = tensor.dimensions[d].terms;
      const bool isLast = schedule.vectorLoop != kNone && !operation.inOrder && !last &&
                          std::any_of(terms.begin(), terms.end(), [&](const auto &term) {
                            return term.loop == schedule.vectorLoop && term.stride == 1;
                          });
      if (isLast)
        last = d;
      else
        order.push_back(d);
    }
    if (last)
      order.push_back(*last);
    std::vector<int64_t> strides(operation.loops.size(), 0);
    __int128 elements = 1;
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
      __int128 reach = 1;
      for (const auto &term : tensor.dimensions[*d].terms) {
        strides[term.loop] += term.stride * int64_t(elements);
        reach += __int128(term.stride) * std::max<int64_t>(operation.loops[term.loop].extent - 1, 0);
      }
      elements = std::min<__int128>(elements * std::max<__int128>(reach, tensor.dimensions[*d].size), INT64_MAX / 8);
    }
    made.strides.push_back(std::move(strides)), made.elements.push_back(int64_t(elements));
  }
  return made;
}

std::vector<Role> rolesOf(const RowOperation &operation, std::string &wrong) {
  std::vector<Role> roles;
  std::vector<std::string> names;
  for (const ContractionTensor &tensor : operation.tensors)
    names.push_back(tensor.name);
  for (const RowPass &pass : operation.passes)
    for (const RowStatement &statement : pass.statements) {
      for (const FormulaWord &word : wordsOf(statement.formula)) {
        if (word.role != Role::None)
          roles.push_back(word.role);
        else if (word.kind == FormulaWord::Kind::Name &&
                 std::find(names.begin(), names.end(), word.name) == names.end())
          return wrong = word.name, std::vector<Role>{};
      }
      if (statement.kind == RowStatement::Kind::Sum || statement.kind == RowStatement::Kind::Add)
        roles.push_back(Role::Add);
      if (statement.kind == RowStatement::Kind::Max)
        roles.push_back(Role::Max);
      names.push_back(statement.target);
    }
  return roles;
}

RowSchedule plainRowSchedule(const RowOperation &operation, const Microarchitecture &machine) {
  std::string wrong;
  std::vector<Role> roles = rolesOf(operation, wrong);
  bool sums = false, maxima = false;
  for (const RowPass &pass : operation.passes)
    for (const RowStatement &statement : pass.statements) {
      sums |= statement.kind == RowStatement::Kind::Sum;
      maxima |= statement.kind == RowStatement::Kind::Max;
    }
  roles.insert(roles.end(), {Role::Load, Role::Store, Role::Broadcast});
  auto has = [&](Role role, int32_t lanes) {
    return opcodeOf(machine, {role, lanes}) != kNone ||
           (role == Role::MultiplyAdd && opcodeOf(machine, {Role::Multiply, lanes}) != kNone &&
            opcodeOf(machine, {Role::Add, lanes}) != kNone);
  };
  RowSchedule best;
  int64_t bestExtent = 1;
  for (const Opcode &opcode : machine.opcodes) {
    const int32_t lanes = opcode.role.lanes;
    if (opcode.role.does != Role::Load || opcode.role.isTile() || lanes <= best.lanes ||
        !std::all_of(roles.begin(), roles.end(), [&](Role role) { return has(role, lanes); }))
      continue;
    const bool combines = (!sums || has(Role::ReduceAdd, lanes)) &&
                          (!maxima || (has(Role::ReduceMax, lanes) && has(Role::Multiply, lanes)));
    bestExtent = 0;
    for (Index l = 0; l < Index(operation.loops.size()); ++l) {
      RowSchedule tried{l, lanes, 1};
      if ((l >= operation.outer && !combines) || operation.loops[l].extent <= bestExtent ||
          !rowKernel(operation, tried))
        continue;
      best = tried, bestExtent = operation.loops[l].extent;
    }
  }
  return best;
}

} // namespace accord::microarchitecture
