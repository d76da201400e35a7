// The parts of a plan and of a kernel's definition that kernel files need not compile (convscope/plan.h).
#include "convscope/plan.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace convscope {

Plan::Plan(const ConvProblem& p) : out_length_(p.out_length()) {}
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(const Plan&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

size_t Plan::begin_launch(simt::Entry entry, const Shape& grid, const Shape& block, size_t shared_bytes) {
  launches_.push_back({entry, grid, block, shared_bytes, {}, false, false, false, 0, {}, {}, true});
  return launches_.size() - 1;
}

void Plan::add(size_t launch, const TensorRef& tensor) {
  Argument a;
  a.is_tensor = true, a.tensor = tensor, a.size = sizeof(void*);
  add(launch, std::move(a));
}

void Plan::add(size_t launch, const TensorView& view) {
  Argument a;
  a.is_view = true, a.view = view, a.size = sizeof(TensorMap);
  add(launch, std::move(a));
}

void Plan::add(size_t launch, const void* value, size_t bytes) {
  Argument a;
  a.size = bytes;
  std::memcpy(a.value.data(), value, bytes);
  add(launch, std::move(a));
}

void Plan::add(size_t launch, Argument argument) { launches_[launch].arguments.push_back(std::move(argument)); }

void Plan::bound_threads(size_t launch, int64_t most) {
  const int64_t threads = launches_[launch].block.count();
  if (most && threads > most)
    refuse_launch(launch, fmt::format("{} threads in a block, and its __launch_bounds__ allow {}", threads, most));
}

void Plan::end_launch(size_t launch, int64_t fills_bytes) {
  find_packing(launches_[launch]);
  if (!fills_bytes) return;
  launches_[launch].fills_bytes = fills_bytes;
  look_for_fills_before(launch);
}

// A launch packs if it is given weights and nothing of a call: neither x nor y, nor a part of the workspace that a
// launch before it was given which has something of the call. What a kernel file says of a launch does not count.
void Plan::find_packing(Launch& l) {
  bool weights = false, of_call = false;
  auto each_tensor = [&](auto f) {
    for (const Argument& a : l.arguments) a.each_tensor(f);
  };
  each_tensor([&](const TensorRef& t) {
    weights |= t.tensor == Tensor::w;
    of_call |= t.tensor == Tensor::x || t.tensor == Tensor::y ||
               (t.tensor == Tensor::workspace &&
                std::find(parts_of_call_.begin(), parts_of_call_.end(), t.offset_bytes) != parts_of_call_.end());
  });
  l.packs = weights && !of_call;
  if (!of_call) return;
  each_tensor([&](const TensorRef& t) {
    if (t.tensor == Tensor::workspace) parts_of_call_.push_back(t.offset_bytes);
  });
}

// What is filled again and again holds no weights for good.
void Plan::look_for_fills_before(size_t launch) {
  Launch& own = launches_[launch];
  for (size_t i = 0; i < launch; i++) {
    Launch& other = launches_[i];
    if (!other.fills_bytes || other.arguments[0].tensor.variable != own.arguments[0].tensor.variable) continue;
    other.packs = own.packs = false;
  }
}

TensorRef Plan::variable(const Variable& v, int64_t offset_bytes) {
  auto known =
      std::find_if(variables_.begin(), variables_.end(), [&](const auto& o) { return o.on_host == v.on_host; });
  const auto number = static_cast<size_t>(known - variables_.begin());
  if (known == variables_.end()) variables_.push_back(v);
  return {Tensor::variable, offset_bytes, number};
}

bool Plan::packs_weights() const {
  const auto pack = std::count_if(launches_.begin(), launches_.end(), [](const Launch& l) { return l.packs; });
  return pack > 0 && static_cast<size_t>(pack) < launches_.size();
}

// Of a part of a plan, whose launches have other numbers.
void Plan::forget_order() {
  for (Launch& l : launches_) l.beside.clear(), l.waited_for = l.follows_caller = true;
}

Plan Plan::without_packing() const {
  Plan rest = *this;
  std::erase_if(rest.launches_, [](const Launch& l) { return l.packs; });
  rest.forget_order();
  return rest;
}

Plan Plan::packing() const {
  Plan part = *this;
  std::erase_if(part.launches_, [](const Launch& l) { return !l.packs; });
  part.forget_order();
  return part;
}

KernelDefinition::KernelDefinition(const char* name, const char* file) : name_(name), file_(file) {}
KernelDefinition::~KernelDefinition() = default;

Plan KernelDefinition::plan_for(const ConvProblem& p) const {
  Plan plan(p);
  if (unsupported(p).empty()) plan_(p, plan);
  return plan;
}

void KernelDefinition::come_from_outside(std::string name, std::string text) {
  // A copy of a specimen may be mended by now.
  constexpr std::string_view wrong = "wrong: ";
  if (kind_ == KernelKind::specimen && idea_.starts_with(wrong))
    idea_ = "begun as " + name_ + ": " + idea_.substr(wrong.size());
  kind_ = KernelKind::outside;
  name_ = std::move(name), text_ = std::move(text);
}

void KernelDefinition::specimen(std::string home_preset, bool (*right_for)(const ConvProblem&)) {
  kind_ = KernelKind::specimen;
  home_preset_ = std::move(home_preset);
  right_for_ = right_for;
}

void KernelDefinition::not_given(std::initializer_list<const char*> fields) {
  not_given_.assign(fields.begin(), fields.end());
}
void KernelDefinition::idea(std::string text) { idea_ = std::move(text); }
void KernelDefinition::accuracy(std::string promised) { accuracy_ = std::move(promised); }
void KernelDefinition::why_not(std::string (*function)(const ConvProblem&)) { supports_ = function; }
void KernelDefinition::plan(void (*make)(const ConvProblem&, Plan&)) { plan_ = make; }

}  // namespace convscope
