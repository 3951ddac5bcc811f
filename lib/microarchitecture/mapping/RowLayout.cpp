#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/mapping/Formula.h"
#include "lib/microarchitecture/mapping/Pieces.h"
#include "lib/microarchitecture/mapping/RowOperation.h"
#include <algorithm>
#include <map>

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

namespace {

/// Whether strips of the schedule fit, each with two constants beside it.
bool stripsFit(const RowOperation &operation, const RowSchedule &schedule, const RowLayout &layout,
               const Microarchitecture &machine) {
  std::vector<int64_t> sizes;
  for (Index l = 0; l < Index(operation.loops.size()); ++l)
    sizes.push_back(l > schedule.stripLoop     ? operation.loops[l].extent
                    : l == schedule.stripLoop  ? std::min(schedule.strip, operation.loops[l].extent)
                    : l == schedule.vectorLoop ? schedule.lanes
                                               : 1);
  std::map<Index, __int128> bytes;
  for (size_t t = 0; t < operation.tensors.size(); ++t) {
    const auto piece = pieceOf(operation.tensors[t], layout.strides[t], sizes);
    if (!piece)
      return false;
    bool isWritten = false;
    for (const RowPass &pass : operation.passes)
      for (const RowStatement &statement : pass.statements)
        isWritten |= (statement.kind == RowStatement::Kind::Store || statement.kind == RowStatement::Kind::Add) &&
                     statement.target == operation.tensors[t].name;
    const Index storage = schedule.buffers[isWritten];
    const int64_t port = machine.storages[storage].portBytes;
    const __int128 one = __int128(piece->elements) * operation.tensors[t].bytes;
    bytes[storage] += (one + port - 1) / port * port * (schedule.isDouble ? 2 : 1);
  }
  return std::all_of(bytes.begin(), bytes.end(), [&](const auto &use) {
    const Storage &storage = machine.storages[use.first];
    return use.second + 256 + 4 * 4 * schedule.lanes <= storage.end - storage.begin;
  });
}

void stage(const RowOperation &operation, const Microarchitecture &machine, RowSchedule &schedule) {
  std::vector<OpcodeRole> loads = {{Role::Load, schedule.lanes}};
  if (schedule.lanes > 1)
    loads.push_back({Role::Broadcast, schedule.lanes});
  std::vector<OpcodeRole> stores = loads;
  stores.push_back({Role::Store, schedule.lanes});
  const auto places = stagingPlaces(machine, loads, stores);
  if (!places)
    return;
  schedule.copy = places->copy, schedule.buffers = places->buffers;
  const RowLayout layout = rowLayout(operation, schedule);
  for (bool isDouble : {true, false})
    for (Index l = 0; l < Index(operation.loops.size()); ++l) {
      if (isDouble && !hasTokensFor(machine, 2 * operation.tensors.size()))
        break;
      RowSchedule tried = schedule;
      const int64_t step = l == schedule.vectorLoop ? schedule.lanes : 1, extent = operation.loops[l].extent;
      tried.stripLoop = l, tried.strip = step, tried.isDouble = isDouble;
      if (!stripsFit(operation, tried, layout, machine))
        continue;
      for (int64_t strip = 2 * step; tried.strip < extent; strip *= 2) {
        RowSchedule larger = tried;
        larger.strip = std::min(strip, (extent + step - 1) / step * step);
        if (!stripsFit(operation, larger, layout, machine))
          break;
        tried = larger;
      }
      schedule = tried;
      return;
    }
  schedule.stripLoop = std::max<Index>(Index(operation.loops.size()) - 1, 0);
  schedule.strip = schedule.stripLoop == schedule.vectorLoop ? schedule.lanes : 1;
}

} // namespace

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
      RowSchedule tried;
      tried.vectorLoop = l, tried.lanes = lanes;
      if ((l >= operation.outer && !combines) || operation.loops[l].extent <= bestExtent ||
          !rowKernel(operation, tried))
        continue;
      best = tried, bestExtent = operation.loops[l].extent;
    }
  }
  if (!operation.loops.empty())
    stage(operation, machine, best);
  return best;
}

} // namespace accord::microarchitecture
