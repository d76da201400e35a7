// How oneDNN sees the operator: a "deconvolution" x {N, Cin, L}, w {Cout, Cin, K} or {g, Cout/g, Cin/g, K}, y {N, Cout,
// Lout}, dilation counted from 0, and output_padding as a right padding of p − op, which may be negative. (oneDNN
// Developer Guide, "Convolution"; https://oneapi-src.github.io/oneDNN/v2.6/dev_guide_convolution.html)
#include "kernels/reference/onednn.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/problem/tensor.h"
#include "kernels/reference/onednn_library.h"
#include "kernels/reference/widened.h"

namespace convscope {
namespace onednn {
namespace {

// bf16 where this processor has it; f16 this version has nowhere.
dnnl_data_type_t type_of(const ConvProblem& p) { return p.dtype == DType::bf16 ? dnnl_bf16 : dnnl_f32; }

// The user's tensors: NCW, contiguous.
struct UserLayouts {
  dnnl_memory_desc_t x{}, w{}, b{}, y{};

  explicit UserLayouts(const ConvProblem& p) {
    const Library& o = library();
    const dnnl_data_type_t type = type_of(p);
    dnnl_dims_t xd = {p.batch, p.in_channels, p.length}, yd = {p.batch, p.out_channels, p.out_length()};
    check(o.dnnl_memory_desc_init_by_tag(&x, 3, xd, type, dnnl_ncw), "describing x");
    check(o.dnnl_memory_desc_init_by_tag(&y, 3, yd, type, dnnl_ncw), "describing y");
    dnnl_dims_t bd = {p.out_channels};
    check(o.dnnl_memory_desc_init_by_tag(&b, 1, bd, type, dnnl_a), "describing b");
    // oneDNN puts output channels first, in its index; in memory they stay where w [Cin, Cout/g, K] has them.
    int64_t in = p.in_per_group(), out = p.out_per_group(), k = p.kernel_size;
    dnnl_dims_t wd = {p.groups, out, in, k}, ws = {in * out * k, k, out * k, 1};
    int skip = p.groups == 1 ? 1 : 0;  // without groups the descriptor has no group dimension
    check(o.dnnl_memory_desc_init_by_strides(&w, 4 - skip, wd + skip, type, ws + skip), "describing w");
  }
};

dnnl_memory_desc_t with_any_layout(dnnl_memory_desc_t layout) {
  dnnl_memory_desc_t any = layout;
  check(library().dnnl_memory_desc_init_by_tag(&any, layout.ndims, layout.dims, layout.data_type, dnnl_format_tag_any),
        "leaving a layout open");
  return any;
}

// Null with the status when oneDNN does not take it. free_layout: it may want x and y in blocks of channels.
Description describe(const ConvProblem& p, dnnl_engine_t engine, bool free_layout, dnnl_status_t& status) {
  const Library& o = library();
  UserLayouts user(p);
  dnnl_memory_desc_t x = free_layout ? with_any_layout(user.x) : user.x,
                     y = free_layout ? with_any_layout(user.y) : user.y;
  dnnl_memory_desc_t w = with_any_layout(user.w);
  dnnl_dims_t stride = {p.stride}, dilation = {p.dilation - 1}, left = {p.padding},
              right = {p.padding - p.output_padding};
  dnnl_deconvolution_desc_t op{};
  Description none{nullptr, o.dnnl_primitive_desc_destroy};
  status =
      o.dnnl_dilated_deconvolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_deconvolution_direct, &x, &w,
                                                     p.bias ? &user.b : nullptr, &y, stride, dilation, left, right);
  if (status != dnnl_success) return none;
  dnnl_primitive_desc_t d = nullptr;
  status = o.dnnl_primitive_desc_create(&d, &op, make_attributes().get(), engine, nullptr);
  if (status != dnnl_success) return none;
  none.reset(d);
  return none;
}

std::string implementation(const Description& d) {
  const char* text = nullptr;
  library().dnnl_primitive_desc_query(d.get(), dnnl_query_impl_info_str, 0, &text);
  return text ? text : "";
}

// Whether d works on the user's layouts of x and y, and whether its own hold no more than they do.
struct Fit {
  bool plain, filled;
};
Fit fit(const Description& d, const UserLayouts& user) {
  const Library& o = library();
  const auto &x = layout_of(d, dnnl_query_src_md), &y = layout_of(d, dnnl_query_dst_md);
  return {o.dnnl_memory_desc_equal(&x, &user.x) && o.dnnl_memory_desc_equal(&y, &user.y),
          o.dnnl_memory_desc_get_size(&x) == o.dnnl_memory_desc_get_size(&user.x) &&
              o.dnnl_memory_desc_get_size(&y) == o.dnnl_memory_desc_get_size(&user.y)};
}

// What oneDNN has for a problem, to be tried against each other when there are two; empty with its status when it has
// nothing. Left free, it takes kernels on blocks of 8 or 16 channels where it has them, and a matrix product on the
// plain layout otherwise. The blocks pay for bringing x and y into them and back when the channels fill them and there
// is work to do (measured: 1.3 to 4 times faster in all); else either may be faster.
std::vector<Description> descriptions(const ConvProblem& p, dnnl_engine_t engine, dnnl_status_t& status) {
  constexpr double plenty_flop = 1e9;
  UserLayouts user(p);
  std::vector<Description> list;
  Description free = describe(p, engine, true, status);
  dnnl_status_t free_status = status;
  bool alone = false;
  if (free) {
    Fit f = fit(free, user);
    double flop = 2.0 * static_cast<double>(p.x_elements()) * static_cast<double>(p.out_per_group() * p.kernel_size);
    alone = f.plain || (f.filled && flop > plenty_flop && !implementation(free).starts_with("ref"));
    list.push_back(std::move(free));
  }
  if (!alone) {
    Description plain = describe(p, engine, false, status);
    // Its plain loops (measured: 0.1 GFLOP/s) are only for what it has nothing else for.
    if (plain && !list.empty() && implementation(list[0]).starts_with("ref")) list.clear();
    if (plain && (list.empty() || !implementation(plain).starts_with("ref"))) list.push_back(std::move(plain));
  }
  status = list.empty() ? free_status : dnnl_success;
  return list;
}

// What oneDNN computes for p: p itself, or where it lacks the type p in f32, from widened tensors.
ConvProblem computed_for(const ConvProblem& p, dnnl_engine_t engine) {
  if (!is_half(p.dtype)) return p;
  dnnl_status_t status = dnnl_success;
  if (p.dtype == DType::bf16)
    for (const auto& d : descriptions(p, engine, status))
      if (!implementation(d).starts_with("ref")) return p;
  ConvProblem wide = p;
  wide.dtype = DType::f32;
  return wide;
}

// One copy between two layouts of a tensor.
struct Reorder {
  Primitive primitive;
  HostBytes scratch;
  Memory scratch_memory;

  Reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to, dnnl_engine_t engine, const std::string& what)
      : primitive(nullptr, nullptr), scratch_memory(nullptr, nullptr) {
    dnnl_primitive_desc_t d = nullptr;
    check(library().dnnl_reorder_primitive_desc_create(&d, &from, engine, &to, engine, make_attributes().get()),
          "choosing a reorder of " + what);
    Description owned{d, library().dnnl_primitive_desc_destroy};
    primitive = make_primitive(owned, "a reorder of " + what);
    const dnnl_memory_desc_t& layout = layout_of(owned, dnnl_query_scratchpad_md);
    scratch = HostBytes(library().dnnl_memory_desc_get_size(&layout));
    scratch_memory = make_memory(layout, engine, scratch.data());
  }

  void execute(dnnl_stream_t stream, dnnl_memory_t from, dnnl_memory_t to, const char* doing) const {
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratch_memory.get()}};
    check(library().dnnl_primitive_execute(primitive.get(), stream, 3, arguments), doing);
  }
};

// A tensor as the primitive wants it: the user's memory itself, or a copy in another layout.
struct Operand {
  Memory user{nullptr, nullptr};  // at the caller's address, set before each run
  Memory own{nullptr, nullptr};
  HostBytes bytes;
  std::optional<Reorder> reorder;

  void make(const dnnl_memory_desc_t& theirs, const dnnl_memory_desc_t& wanted, bool is_output, dnnl_engine_t engine,
            const std::string& what) {
    user = make_memory(theirs, engine, DNNL_MEMORY_NONE);
    if (library().dnnl_memory_desc_equal(&theirs, &wanted)) return;
    bytes = HostBytes(library().dnnl_memory_desc_get_size(&wanted));
    own = make_memory(wanted, engine, bytes.data());
    if (is_output)
      reorder.emplace(wanted, theirs, engine, what);
    else
      reorder.emplace(theirs, wanted, engine, what);
  }
  void bind(uint64_t address) const {
    check(library().dnnl_memory_set_data_handle(user.get(), reinterpret_cast<void*>(address)), "binding memory");
  }
  dnnl_memory_t used() const { return own ? own.get() : user.get(); }
};

// Everything that depends on the problem alone; kept until another problem comes.
class Prepared {
 public:
  // `asked` is the problem, p what is computed for it.
  Prepared(const ConvProblem& asked, const ConvProblem& p, dnnl_engine_t engine, const Description& d)
      : problem_(asked), stream_(make_stream(engine)) {
    const Library& o = library();
    const bool widens = asked.dtype != p.dtype;
    UserLayouts user(p);
    const auto &x = layout_of(d, dnnl_query_src_md), &w = layout_of(d, dnnl_query_weights_md),
               &y = layout_of(d, dnnl_query_dst_md), &scratch = layout_of(d, dnnl_query_scratchpad_md);
    // Said as one sum before any part is taken.
    uint64_t need = o.dnnl_memory_desc_get_size(&scratch) + (widens ? Widened::bytes_for(asked) : 0);
    for (auto [theirs, wanted] : {std::pair{&user.x, &x}, {&user.w, &w}, {&user.y, &y}})
      if (!o.dnnl_memory_desc_equal(theirs, wanted)) need += o.dnnl_memory_desc_get_size(wanted);
    if (uint64_t have = available_host_memory(); need > have)
      throw InputError("memory", bytes_text(need),
                       "needed by oneDNN for its workspace, but the system has " + bytes_text(have) + " available");
    if (widens) widened_.emplace(asked);
    primitive_ = make_primitive(d, "its kernel");
    scratch_ = HostBytes(o.dnnl_memory_desc_get_size(&scratch));
    scratch_memory_ = make_memory(scratch, engine, scratch_.data());
    x_.make(user.x, x, false, engine, "x");
    w_.make(user.w, w, false, engine, "w");
    y_.make(user.y, y, true, engine, "y");
    if (p.bias) b_.make(user.b, user.b, false, engine, "b");

    what_ = implementation(d);
    if (x_.reorder || y_.reorder)
      what_ += fmt::format(", {} reordered", x_.reorder && y_.reorder ? "x and y" : x_.reorder ? "x" : "y");
    if (widens) what_ += fmt::format(", in f32 from widened {}, rounded once", convscope::name_of(asked.dtype));
    int threads = o.omp_get_max_threads ? o.omp_get_max_threads() : 0;
    if (threads) what_ += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  }

  const ConvProblem& problem() const { return problem_; }
  const std::string& what() const { return what_; }

  // Also brings the weights into oneDNN's layout.
  void bind(const Bindings& theirs) {
    theirs_ = theirs;
    if (widened_) widened_->take_weights(theirs);
    const Bindings at = widened_ ? widened_->at() : theirs;
    x_.bind(at.x);
    w_.bind(at.w);
    y_.bind(at.y);
    if (problem_.bias) b_.bind(at.b);
    if (w_.reorder) w_.reorder->execute(stream_.get(), w_.user.get(), w_.own.get(), "reordering w");
    check(library().dnnl_stream_wait(stream_.get()), "waiting for w");
  }

  void compute() const {
    if (widened_) widened_->take_input(theirs_);
    if (x_.reorder) x_.reorder->execute(stream_.get(), x_.user.get(), x_.own.get(), "reordering x");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, x_.used()},
                                   {DNNL_ARG_WEIGHTS, w_.used()},
                                   {DNNL_ARG_DST, y_.used()},
                                   {DNNL_ARG_SCRATCHPAD, scratch_memory_.get()},
                                   {DNNL_ARG_BIAS, b_.user.get()}};
    check(library().dnnl_primitive_execute(primitive_.get(), stream_.get(), problem_.bias ? 5 : 4, arguments),
          "computing");
    if (y_.reorder) y_.reorder->execute(stream_.get(), y_.own.get(), y_.user.get(), "reordering y");
    check(library().dnnl_stream_wait(stream_.get()), "computing");
    if (widened_) widened_->give_output(theirs_);
  }

 private:
  ConvProblem problem_;
  std::optional<Widened> widened_;
  Bindings theirs_;
  std::string what_;
  Stream stream_;
  Primitive primitive_{nullptr, nullptr};
  HostBytes scratch_;
  Memory scratch_memory_{nullptr, nullptr};
  Operand x_, w_, b_, y_;
};

class OneDnn final : public Reference {
 public:
  ~OneDnn() override {
    if (engine_) end_threads();
  }

  std::string name() const override { return "onednn"; }
  std::string idea() const override {
    return "oneDNN's deconvolution: what a library tuned for this processor reaches, on all its cores";
  }
  std::string version() const override { return library().version; }
  std::string unavailable() const override {
    return library().missing.empty() ? "" : library().missing + "; " + library().how;
  }

  std::string unsupported(const ConvProblem& p) const override {
    if (auto why = unavailable(); !why.empty()) return why;
    if (auto e = check(p)) return e->what();
    if (prepared_ && prepared_->problem() == p) return "";
    if (p.dtype == DType::f64) return fmt::format("oneDNN {} has no f64 deconvolution, only f32 and less", version());
    // Its descriptors are 64 bits wide, but its kernels count positions in int.
    struct Reach {
      const char* what;
      __int128 value;
    };
    for (const Reach& r :
         {Reach{"dilation·(kernel_size − 1) + 1", static_cast<__int128>(p.dilation) * (p.kernel_size - 1) + 1},
          Reach{"stride·(length − 1) + 1", static_cast<__int128>(p.stride) * (p.length - 1) + 1}})
      if (r.value > max_parameter)
        return fmt::format("oneDNN counts positions in 32 bits: {} = {} is beyond {}", r.what,
                           static_cast<int64_t>(r.value), max_parameter);
    Threads threads;
    dnnl_status_t status = dnnl_success;
    if (!descriptions(computed_for(p, engine()), engine(), status).empty()) return "";
    if (p.output_padding - p.padding >= p.stride)
      return fmt::format("oneDNN {} takes output_padding only below padding + stride = {}: this one is {}", version(),
                         p.padding + p.stride, p.output_padding);
    return fmt::format("oneDNN {} does not take {}: {}", version(), convscope::describe(p), status_text(status));
  }

  std::string what_ran() const override { return what_ran_; }

  void run(const ConvProblem& p, const Bindings& at, Activity* activity) override {
    Threads threads;
    if (activity) activity->phase("running oneDNN", 1);
    prepare(p, at, activity);
    prepared_->compute();
    what_ran_ = prepared_->what();
    if (activity) activity->advance();
  }

  // Counted: bringing x into oneDNN's layout, the computation, and bringing y back, since tensors outside are NCW, and
  // widening x and rounding y where it has no such type. Not counted: bringing the weights into its layout, which a
  // program does once when it loads a model.
  Timing time(const ConvProblem& p, const Bindings& at, bool cold, const TimingOptions& options,
              Activity* activity) override {
    Timing t;
    t.emulated = true;  // time of this CPU, no GPU's; nor the emulator's: bench() holds them apart
    if (cold) return t;
    Threads threads;
    if (activity) activity->phase("timing oneDNN");
    prepare(p, at, activity);
    compute_ms(*prepared_);  // first touch of the workspace
    what_ran_ = prepared_->what();
    double spent_ms = 0;
    do {
      if (activity) {
        activity->check();
        activity->advance();
      }
      t.samples_ms.push_back(compute_ms(*prepared_));
      spent_ms += t.samples_ms.back();
    } while (!t.enough(options, spent_ms));
    return t;
  }

 private:
  using Clock = std::chrono::steady_clock;

  dnnl_engine_t engine() const {
    if (!engine_) engine_ = make_engine();
    return engine_.get();
  }

  void prepare(const ConvProblem& p, const Bindings& at, Activity* activity) {
    if (!library().missing.empty()) throw MissingError(library().missing, library().how);
    require_legal(p);
    if (auto why = unsupported(p); !why.empty()) throw InputError("reference", "onednn", "cannot be used: " + why);
    if (activity) activity->check();
    if (prepared_ && prepared_->problem() == p) {
      prepared_->bind(at);
    } else {
      prepared_.reset();
      prepared_ = choose(p, at, activity);
    }
    if (activity) activity->check();
  }

  // The fastest of what oneDNN has for p, bound. One is alive at a time, since each may hold copies of x and y.
  std::unique_ptr<Prepared> choose(const ConvProblem& p, const Bindings& at, Activity* activity) const {
    dnnl_status_t status = dnnl_success;
    const ConvProblem computed = computed_for(p, engine());
    auto list = descriptions(computed, engine(), status);
    check(status, "choosing a kernel");
    std::unique_ptr<Prepared> held;
    auto hold = [&](size_t i) {
      held.reset();
      held = std::make_unique<Prepared>(p, computed, engine(), list[i]);
      held->bind(at);
    };
    size_t best = 0;
    if (list.size() > 1) {
      double best_ms = std::numeric_limits<double>::infinity();
      std::exception_ptr too_large;
      for (size_t i = 0; i < list.size(); i++) {
        if (activity) activity->check();
        try {
          hold(i);
        } catch (const InputError&) {
          too_large = std::current_exception();  // the other may need less
          continue;
        }
        if (double ms = trial_ms(*held); ms < best_ms) {
          best_ms = ms;
          best = i;
        }
      }
      if (std::isinf(best_ms)) std::rethrow_exception(too_large);
    }
    if (!held || best + 1 != list.size()) hold(best);
    return held;
  }

  static double compute_ms(const Prepared& prepared) {
    auto start = Clock::now();
    prepared.compute();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  // The least of up to five computations in 0.2 s, after one that touches the workspace first.
  static double trial_ms(const Prepared& prepared) {
    double first = compute_ms(prepared), least = first;
    for (int i = 0; i < 5 && first * i < 200; i++) least = std::min(least, compute_ms(prepared));
    return least;
  }

  mutable Engine engine_{nullptr, nullptr};
  std::unique_ptr<Prepared> prepared_;
  std::string what_ran_;
};

}  // namespace
}  // namespace onednn

std::unique_ptr<Reference> make_onednn() { return std::make_unique<onednn::OneDnn>(); }

}  // namespace convscope
