// A plugin of its own: plans for a cluster emit as little carbon as the whole data center can.
//
// Loading it adds a phase between `cost` and `place`, which gives every request another objective: grams of carbon
// dioxide equivalent of a step, with the energy of cooling and power distribution (Patterson et al., Carbon Emissions
// and Large Neural Network Training, 2021: energy of the computers x PUE x intensity of the grid).
#include "dialects/accel/AccelDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/Pipelines.h"

using namespace accord;

namespace {

/// Makes `carbon` the objective of each request for a cluster, and multiplies the cluster's `grid_intensity` by the
/// PUE.
///
/// Before:  accel.cluster @rent with {grid_intensity = #accel.quantity<400 g/kWh>} { … }
///          plan.request @t.request on "rent" attributes {objective = "throughput", …} { … }
/// After:   accel.cluster @rent with {grid_intensity = #accel.quantity<= 11/90000 g/J>} { … }
///          plan.request @t.request on "rent" attributes {objective = "of_cluster", placement_objective = "carbon", …}
///          { … }
struct FacilityCarbon : mlir::PassWrapper<FacilityCarbon, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FacilityCarbon)

  FacilityCarbon() = default;
  FacilityCarbon(const FacilityCarbon &other) : PassWrapper(other) {}
  Option<std::string> pue{*this, "pue", llvm::cl::desc("energy of the data center / energy of its computers"),
                          llvm::cl::init("1.1")};

  llvm::StringRef getArgument() const override { return "facility-carbon"; }
  llvm::StringRef getDescription() const override { return "minimize the carbon of the whole data center"; }

  mlir::LogicalResult change(plan::RequestOp request, accel::ClusterOp cluster, const Rational &factor) {
    constexpr llvm::StringRef kKey = "grid_intensity";
    mlir::NamedAttrList entries(cluster.getEntries());
    auto intensity = llvm::dyn_cast_or_null<accel::QuantityAttr>(entries.get(kKey));
    if (!intensity)
      return cluster.emitError() << "cluster '" << cluster.getSymName() << "' states no '" << kKey
                                 << "', which 'facility-carbon' needs";
    Quantity facility = intensity.quantity();
    facility.value = facility.value * factor;
    entries.set(kKey, accel::QuantityAttr::get(&getContext(), facility));
    cluster.setEntriesAttr(entries.getDictionary(&getContext()));
    request.setObjective("of_cluster");
    request->setAttr("placement_objective", mlir::StringAttr::get(&getContext(), "carbon"));
    return mlir::success();
  }

  void runOnOperation() override {
    std::optional<Rational> factor = Rational::parse(pue);
    if (!factor || *factor < Rational(1)) {
      getOperation().emitError() << "'pue' of 'facility-carbon' is a number from 1, found '" << pue << "'";
      return signalPassFailure();
    }
    for (auto request : getOperation().getOps<plan::RequestOp>())
      if (auto cluster = getOperation().lookupSymbol<accel::ClusterOp>(request.getTarget()))
        if (mlir::failed(change(request, cluster, *factor)))
          return signalPassFailure();
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "facility-carbon", "0.1.0", [] {
            mlir::PassRegistration<FacilityCarbon>();
            addToPhase(PipelinePhase::Cost,
                       [](mlir::OpPassManager &passes) { passes.addPass(std::make_unique<FacilityCarbon>()); });
          }};
}
