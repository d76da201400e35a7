// An export's library as its Python file sees it, on the host: what the module must get right is when weights are packed,
// and which memory calls on different streams use. Launches wait in a queue for each stream until the test lets them run,
// one step of each stream at a time, or go into the graph that is being captured. A call is up to three steps: the
// weights are packed into the workspace, x is copied into it, y is worked out from what the workspace then holds. Whoever
// shares a workspace with somebody else, or reads weights that nobody packed, gets other numbers.
// Compiled with -DN=… -DCIN=… and so on by the script that plays nvcc (gpu.py).
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { weights = CIN * (COUT / GROUPS) * K, inputs = N * CIN * L, most = 4096 };
struct Workspace {
  float w[weights], x[inputs];
};
struct Call {
  const float *x, *w, *b;
  float* y;
  struct Workspace* workspace;
  intptr_t pack, stream;
};
struct Step {
  struct Call call;
  int kind, owner;  // of a stream, or of a graph
};

struct Call fake_calls[most];
int fake_call_count, fake_overlaps, fake_nap_us, fake_error;
static struct Step steps[most], captured[most];
static int step_count, captured_count, capturing_stream = -1, joined_stream = -1, capturing_graph;
static struct Workspace* busy;

static void run(const struct Step* s) {
  const struct Call* c = &s->call;
  const int og = COUT / GROUPS, ig = CIN / GROUPS;
  if (s->kind == 0) memcpy(c->workspace->w, c->w, sizeof c->workspace->w);
  if (s->kind == 1) memcpy(c->workspace->x, c->x, sizeof c->workspace->x);
  if (s->kind != 2) return;
  const float* w = PACKS ? c->workspace->w : c->w;
  for (int n = 0; n < N; n++)
    for (int co = 0; co < COUT; co++)
      for (int j = 0; j < LOUT; j++) {
        float sum = c->b ? c->b[co] : 0;
        for (int ci = 0; ci < ig; ci++)
          for (int k = 0; k < K; k++) {
            int at = j + P - k * D, in = co / og * ig + ci;
            if (at >= 0 && at % S == 0 && at / S < L)
              sum += c->workspace->x[(n * CIN + in) * L + at / S] * w[(in * og + co % og) * K + k];
          }
        c->y[(n * COUT + co) * LOUT + j] = sum;
      }
}

static int in_capture(intptr_t stream) { return stream == capturing_stream || stream == joined_stream; }

static void add(struct Call call, int kind) {
  struct Step* to = in_capture(call.stream) ? &captured[captured_count++] : &steps[step_count++];
  *to = (struct Step){call, kind, in_capture(call.stream) ? capturing_graph : (int)call.stream};
}

size_t conv_transpose1d_workspace(void) { return sizeof(struct Workspace); }

int conv_transpose1d(const void* x, const void* w, const void* b, void* y, void* workspace, int pack, void* stream) {
  struct Call call = {x, w, b, y, workspace, pack, (intptr_t)stream};
  fake_calls[fake_call_count++] = call;
  if (fake_error) return fake_error;
  if (busy == call.workspace) fake_overlaps++;  // another thread's launches into the same workspace are under way
  busy = call.workspace;
  if (PACKS && pack) add(call, 0);
  if (fake_nap_us) usleep(fake_nap_us);
  if (pack != 2) add(call, 1), add(call, 2);
  busy = 0;
  return 0;
}

unsigned long long conv_transpose1d_capture(void* stream) {
  return in_capture((intptr_t)stream) ? (unsigned long long)capturing_graph : 0;
}

// All that is queued, a step of each stream at a time.
void fake_finish(void) {
  int done[most] = {0};
  for (int left = step_count; left;)
    for (int stream = 64; stream >= 0; stream--)
      for (int i = 0; i < step_count; i++)
        if (!done[i] && steps[i].owner == stream) {
          run(&steps[i]), done[i] = 1, left--;
          break;
        }
  step_count = 0;
}

void fake_capture(int stream, int graph) { capturing_stream = stream, joined_stream = -1, capturing_graph = graph; }
void fake_join(int stream) { joined_stream = stream; }  // another stream of the capture

void fake_replay(int graph, int stream) {
  for (int i = 0; i < captured_count; i++)
    if (captured[i].owner == graph) steps[step_count] = captured[i], steps[step_count++].owner = stream;
}
