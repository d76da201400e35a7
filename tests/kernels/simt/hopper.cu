// Hopper's own instructions (convscope/hopper.h, convscope/wgmma.h), right and misused.
#include "convscope/wgmma.h"
#include "hopper_modes.h"

// out[i] = in[i] + 1: a thread orders copies of 512 bytes through two stages, four warps read them. 160 threads.
extern "C" __global__ void pipeline(const float* in, float* out, int rounds, int mode) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  uint32_t stages = shared_address(shared), barriers = stages + 2 * 512;
  if (threadIdx.x == 0 && mode != no_barriers_made) {
    for (uint32_t i = 0; i < 2; i++) barrier_init(barriers + 16 * i, 1), barrier_init(barriers + 16 * i + 8, 4);
    barriers_made();
  }
  __syncthreads();
  bool producer = threadIdx.x == 128;
  if (threadIdx.x >= 128 && !producer) return;
  for (int round = 0; round < rounds; round++) {
    uint32_t stage = round % 2, phase = round / 2 % 2, full = barriers + 16 * stage, empty = full + 8;
    if (producer) {
      if (mode != producer_does_not_wait) barrier_wait(empty, phase ^ 1);  // WAIT empty
      barrier_expect(full, mode == too_few_bytes_expected ? 256 : 512);
      uint32_t to = stages + 512 * stage + (mode == copy_is_not_aligned ? 4 : 0);
      if (mode == copy_beyond_shared_memory) to += 1024 * 1024;
      copy_bytes(to, mode == copy_from_nowhere ? nullptr : in + 128 * round, 512, full);  // COPY
    } else {
      if (mode != consumers_do_not_wait) barrier_wait<true>(full, phase);  // WAIT full
      out[128 * round + threadIdx.x] = reinterpret_cast<float*>(shared)[128 * stage + threadIdx.x] + 1;
      __syncwarp();
      if (mode != nothing_is_given_back && threadIdx.x % 32 == 0) barrier_arrive(empty);
    }
  }
}

// A box of a tensor into shared memory, and from there as it lies to `seen`; then written to another tensor.
extern "C" __global__ void boxes(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to,
                                 int position, int channel, int group, int n, int bytes, float* seen, int write_at,
                                 int mode) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  uint32_t box = shared_address(shared), barrier = box + static_cast<uint32_t>(bytes);
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barriers_made();
    barrier_expect(barrier, bytes);
    copy_box(box, from, position, channel, group, n, barrier);
  }
  __syncthreads();
  barrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) seen[i] = reinterpret_cast<float*>(shared)[i];
  shared_stores_seen();
  __syncthreads();
  if (threadIdx.x == 0) {
    write_box(to, box, {write_at, 0, 0, 0, 0});  // WRITE
    boxes_ordered();
    if (mode == box_overwritten) shared[0] ^= 0x7f;
    boxes_read();
  }
}

// y[at …] = 0, 1, 2 … : so many bytes out of shared memory.
extern "C" __global__ void bytes_leave(float* y, int at, int bytes, int mode) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  auto* values = reinterpret_cast<float*>(shared);
  for (int i = threadIdx.x; i < 64; i += blockDim.x) values[i] = static_cast<float>(i);
  shared_stores_seen();
  __syncthreads();
  if (threadIdx.x) return;
  write_bytes(y + at, shared_address(shared), static_cast<uint32_t>(bytes));  // LEAVE
  boxes_ordered();
  if (mode == box_overwritten) values[0] = -1;
  boxes_read();
}

// Two groups of 128 threads hand a value over `rounds` times.
extern "C" __global__ void hand_over(int rounds, int mode, int* out) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  int *values = reinterpret_cast<int*>(shared), i = static_cast<int>(threadIdx.x) % 128;
  for (int round = 0; round < rounds; round++)
    if (threadIdx.x < 128) {
      if (round) meet<256>(2);
      values[i] = round * 1000 + i;
      if (mode != nobody_arrives) arrive<256>(1);
    } else {
      if (mode == other_numbers)
        meet<160>(1);  // MEET 160
      else
        meet<256>(1);  // MEET 256
      out[round * 128 + i] = values[127 - i];
      if (round + 1 < rounds) arrive<256>(2);
    }
}

// d[64, columns] = A · B of two steps (a and b: [step][…]), one warpgroup. A: [64, k] values; B as it shall lie in
// shared memory, `step_bytes` a step. type 0: TF32, k = 8; 1: f16, 2: bf16, k = 16.
template <int columns>
__device__ __forceinline__ void multiply_steps(const uint32_t* a, const unsigned char* b, int step_bytes,
                                               uint64_t descriptor, int type, int plain, int mode, float* out) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  for (int i = threadIdx.x; i < 2 * step_bytes; i += 128) shared[i] = b[i];
  shared_stores_seen();
  __syncthreads();
  int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  if (mode == a_warp_is_missing && warp == 3) return;
  float d[columns / 2];
  for (float& v : d) v = type && !plain ? 0 : -1;
  if (mode != no_fence) products_begin();
  for (int step = 0; step < 2; step++) {
    uint32_t f[4];  // words of a row: 8
    for (int i = 0; i < 4; i++) f[i] = a[step * 512 + (warp * 16 + g + i % 2 * 8) * 8 + t + i / 2 * 4];
    uint64_t at = descriptor + shared_address(shared) / 16 + static_cast<uint64_t>(step * step_bytes / 16);
    if (mode == another_descriptor && threadIdx.x == 77) at++;
    if (type == 0) {
      product(d, f, at, step);
    } else if constexpr (columns == 128) {
      if (plain && step)
        type == 1 ? product_held<false, true>(d, f, at) : product_held<true, true>(d, f, at);
      else if (plain)
        type == 1 ? product_held<false, false>(d, f, at) : product_held<true, false>(d, f, at);
    }
    if (type && !plain) type == 1 ? product_16<false>(d, f, at) : product_16<true>(d, f, at);
  }
  products_commit();
  __syncthreads();
  if (mode == weights_overwritten && threadIdx.x < 32) shared[threadIdx.x] = 0x7f;
  __syncthreads();
  if (mode != not_waited_for) products_wait<0>();  // WAIT products
  for (int j = 0; j < columns / 8; j++)
    for (int i = 0; i < 4; i++) out[(warp * 16 + g + i / 2 * 8) * columns + 8 * j + 2 * t + i % 2] = d[4 * j + i];
}
// out[64, 80] = twice A · B, 16 k values, both as they shall lie in shared memory: B first, then A, whose descriptor
// `rows` counts from its beginning.
extern "C" __global__ void multiply_rows(const unsigned char* b, const unsigned char* a, int a_bytes, uint64_t columns,
                                         uint64_t rows, int bf16, int mode, float* out) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  constexpr int b_bytes = 80 * 128;
  for (int i = threadIdx.x; i < b_bytes; i += 128) shared[i] = b[i];
  for (int i = threadIdx.x; i < a_bytes; i += 128) shared[b_bytes + i] = a[i];
  shared_stores_seen();
  __syncthreads();
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  float d[40];
  for (float& v : d) v = -1;
  columns += shared_address(shared) / 16, rows += shared_address(shared + b_bytes) / 16;
  if (mode == another_descriptor && threadIdx.x == 77) rows++;
  products_begin();
  for (int add = 0; add < 2; add++)
    bf16 ? product_from<true>(d, rows, columns, add) : product_from<false>(d, rows, columns, add);
  products_commit();
  __syncthreads();
  if (mode == weights_overwritten)
    for (int i = threadIdx.x; i < a_bytes; i += 128) shared[b_bytes + i] = 0;
  __syncthreads();
  products_wait<0>();
  for (int j = 0; j < 10; j++)
    for (int i = 0; i < 4; i++) out[(warp * 16 + g + i / 2 * 8) * 80 + 8 * j + 2 * t + i % 2] = d[4 * j + i];
}
extern "C" __global__ void multiply_64(const uint32_t* a, const unsigned char* b, int step_bytes, uint64_t descriptor,
                                       int type, int plain, int mode, float* out) {
  multiply_steps<64>(a, b, step_bytes, descriptor, type, plain, mode, out);
}
extern "C" __global__ void multiply_128(const uint32_t* a, const unsigned char* b, int step_bytes, uint64_t descriptor,
                                        int type, int plain, int mode, float* out) {
  multiply_steps<128>(a, b, step_bytes, descriptor, type, plain, mode, out);
}

// Four matrices of 8 × 8 16-bit values from `in` to fragments, and back with rows and columns exchanged.
extern "C" __global__ void exchange_matrices(const uint16_t* in, uint32_t* fragments, uint16_t* out, int offset) {
  CONVSCOPE_DYNAMIC_SHARED_1024(shared);
  auto* values = reinterpret_cast<uint16_t*>(shared);
  for (int i = threadIdx.x; i < 256; i += 32) values[i] = in[i];
  __syncwarp();
  uint32_t v[4], row = shared_address(shared) + 16 * threadIdx.x;
  load_matrices(v, row + offset);  // LOAD matrices
  for (int m = 0; m < 4; m++) fragments[4 * threadIdx.x + m] = v[m];
  __syncwarp();
  store_matrices(row, v);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) out[i] = values[i];
}

// Block b goes on where block b − 1 ended. Block `faulty` never tells.
extern "C" __global__ void chain(int* words, int* out, int faulty) {
  int b = static_cast<int>(blockIdx.x), there = b == 0;
  while (!there) there = was_told(words + b - 1);
  if (b == faulty) __trap();
  out[b] = b ? out[b - 1] + b : 0;
  tell(words + b);
}

extern "C" __global__ void bits(const unsigned* a, const unsigned* b, const unsigned* select, unsigned* out) {
  int i = static_cast<int>(threadIdx.x);
  out[4 * i] = __byte_perm(a[i], b[i], select[i]);
  out[4 * i + 1] = __funnelshift_r(a[i], b[i], select[i]);
  out[4 * i + 2] = static_cast<unsigned>(__reduce_min_sync(~0u, static_cast<int>(a[i])));
  out[4 * i + 3] = __reduce_min_sync(~0u, a[i]);
}

#ifndef __CUDACC__
CONVSCOPE_KERNEL(test_hopper) {
  test_only();
  idea("barriers in shared memory, the copy engine, products of a warpgroup");
  requires_("sm_90a", "wgmma", "tma");
  plan([](const ConvProblem&, Plan& plan) {
    TensorView view{};
    plan.launch(ENTRY(pipeline), {1}, {160}).args(plan.x(), plan.y(), 1, 0);
    plan.launch(ENTRY(boxes), {1}, {32}).args(view, view, 0, 0, 0, 0, 0, plan.y(), 0, 0);
    plan.launch(ENTRY(hand_over), {1}, {256}).args(1, 0, plan.y());
    plan.launch(ENTRY(multiply_64), {1}, {128}).args(plan.x(), plan.w(), 0, 0, 0, 0, 0, plan.y());
    plan.launch(ENTRY(multiply_128), {1}, {128}).args(plan.x(), plan.w(), 0, 0, 0, 0, 0, plan.y());
    plan.launch(ENTRY(multiply_rows), {1}, {128}).args(plan.x(), plan.w(), 0, 0, 0, 0, 0, plan.y());
    plan.launch(ENTRY(bytes_leave), {1}, {32}).args(plan.y(), 0, 0, 0);
    plan.launch(ENTRY(exchange_matrices), {1}, {32}).args(plan.x(), plan.w(), plan.y(), 0);
    plan.launch(ENTRY(chain), {1}, {1}).in_order().args(plan.x(), plan.y(), -1);
    plan.launch(ENTRY(bits), {1}, {32}).args(plan.x(), plan.w(), plan.b(), plan.y());
  });
}
#endif
