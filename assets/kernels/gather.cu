// One thread an output element: every tap that reaches it, found by division. Right for every legal problem.
//
// A kernel of your own begins with such a file: change it, and `convscope run assets/kernels/gather.cu --trust --preset
// kernelbench-79-small` says what became of it. The line below is all it needs; no header, no code that launches it.
//
// convscope: launch gather grid=ceil_div(N*Cout*Lout,256) block=256 args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d,g
__global__ void gather(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L,
                       int Lout, int s, int p, int d, int g) {
  long long id = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= static_cast<long long>(N) * Cout * Lout) return;
  const int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  const int in_group = Cin / g, out_group = Cout / g, first = co / out_group * in_group;

  float sum = b ? b[co] : 0.0f;
  for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s != 0) continue;
    const int i = t / s;
    if (i >= L) continue;
    for (int ci = first; ci < first + in_group; ci++)
      sum += x[(static_cast<long long>(n) * Cin + ci) * L + i] *
             w[(static_cast<long long>(ci) * out_group + co % out_group) * K + k];
  }
  y[id] = sum;
}
