// One thread an input element, which adds its product with every tap to the output that it reaches. Right for every
// legal problem; the order of its additions is any, so that the last bits differ from run to run.
//
// Sums are added to what stands there: a launch of its own puts the bias there first, or 0. Launches run one after the
// other, in the order of the lines below.
//
// convscope: launch begin grid=ceil_div(N*Cout*Lout,256) block=256 args=b,y,N,Cout,Lout
// convscope: launch scatter grid=ceil_div(N*Cin*L,256) block=256 args=x,w,y,N,Cin,Cout,K,L,Lout,s,p,d,g
__global__ void begin(const float* b, float* y, int N, int Cout, int Lout) {
  long long id = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id < static_cast<long long>(N) * Cout * Lout) y[id] = b ? b[id / Lout % Cout] : 0.0f;
}

__global__ void scatter(const float* x, const float* w, float* y, int N, int Cin, int Cout, int K, int L, int Lout,
                        int s, int p, int d, int g) {
  long long e = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= static_cast<long long>(N) * Cin * L) return;
  const int i = e % L, ci = e / L % Cin, n = e / L / Cin;
  const int in_group = Cin / g, out_group = Cout / g, first = ci / in_group * out_group;

  for (int k = 0; k < K; k++) {
    const int j = i * s - p + k * d;
    if (j < 0 || j >= Lout) continue;
    for (int co = 0; co < out_group; co++)
      atomicAdd(&y[(static_cast<long long>(n) * Cout + first + co) * Lout + j],
                x[e] * w[(static_cast<long long>(ci) * out_group + co) * K + k]);
  }
}
