// Word mover's distances on a GPU: one warp solves one pair of documents.
//
// The algorithm is that of transport.py and documents.py: words that two documents share
// stay where they are, and what is left over is transported by a transportation simplex,
// whose tree is kept as a preorder array. What differs:
//
// - The 32 lanes of a warp look at 32 costs at once, row after row without a gap, so that
//   no lane is idle where a document is short. Both sides of a cycle are walked at once.
// - Costs are kept in float32, prices and flows in float64. Prices are sums of costs, so
//   they are exact up to rounding of 2^-53: reduced costs do not drift.
// - Rows come before columns: node i < n is a row, node n + j a column.
// - Arrays that are never needed at the same time share their memory: see `Work`.
//
// A segment is a document (the anchor, whose words are the columns) against a list of
// others. A warp takes segments until there are none left, and starts each pair at prices
// learned from those before it in the segment, as the CPU does. The result does not
// depend on which warp takes what.
//
// The same source compiles as plain C++ for a warp of one lane, where tests can see it
// without a GPU.

#ifdef __CUDACC__
#define LANES 32
#define DEVICE static __device__ __forceinline__
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ >= 900
#define WARPS_A_PROCESSOR 28  // of 32: as many registers a warp as that leaves
#else
#define WARPS_A_PROCESSOR 16
#endif
#define KERNEL extern "C" __global__ void __launch_bounds__(32, WARPS_A_PROCESSOR)
#define LANE (int(threadIdx.x) & 31)
#define SYNC __syncwarp()
DEVICE unsigned ballot(bool yes) { return __ballot_sync(~0u, yes); }
DEVICE int count_of(unsigned lanes) { return __popc(lanes); }
DEVICE int first_of(unsigned lanes) { return __ffs(lanes) - 1; }
DEVICE unsigned bits_of(float x) { return __float_as_uint(x); }
DEVICE int from_lane(int x, int lane) { return __shfl_sync(~0u, x, lane); }
DEVICE double from_lane(double x, int lane) { return __shfl_sync(~0u, x, lane); }
DEVICE double sum_of(double x) {
  for (int step = 16; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}
DEVICE unsigned largest_of(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(~0u, x);
#else
  for (int step = 16; step; step /= 2) x = max(x, __shfl_xor_sync(~0u, x, step));
  return x;
#endif
}
#else
#include <algorithm>
#include <cmath>
#include <cstring>
using std::max;
using std::min;
#define LANES 1
#define DEVICE static inline
#define KERNEL extern "C" void
#define LANE 0
#define SYNC
struct float4 { float x, y, z, w; };
DEVICE unsigned ballot(bool yes) { return yes; }
DEVICE int count_of(unsigned lanes) { return int(lanes); }
DEVICE int first_of(unsigned lanes) { return int(lanes) - 1; }
DEVICE unsigned bits_of(float x) { unsigned u; std::memcpy(&u, &x, 4); return u; }
DEVICE int from_lane(int x, int) { return x; }
DEVICE double from_lane(double x, int) { return x; }
DEVICE double sum_of(double x) { return x; }
DEVICE unsigned largest_of(unsigned x) { return x; }
#endif

typedef unsigned short Node;
typedef long long Long;

#define FAR 1e300         // of columns that are used up
#define DUST 1e-15        // masses below are what subtraction leaves of equal ones
#define NOTHING 1e-13     // a supply that a demand leaves over by less is rounding
#define GAVE_UP -1.0
#define ROWS_AT_ONCE 8    // whose costs are made together
#ifndef PRICED
#define PRICED 16         // costs that a lane looks at before the best of all enters
#endif
#define AHEAD 8           // costs that a lane loads at once

// Documents, and vectors of `quads` times four numbers, padded with zeros.
struct Texts {
  const float4 *vectors;
  int quads;
  const Long *start;
  const int *word;
  const double *mass;
};

// What a warp works on, by node. Until the first basis is found, `flow` holds the masses
// and `price` what columns are offered at; `words` lies where `parent` and `size` come.
struct Work {
  double *price, *flow;
  double *learned;  // prices by position in the anchor
  int *words;
  Node *parent, *size, *order, *place, *scratch, *slot;
  Node *column;  // position in the anchor
  float *cost;   // n rows of m
};

DEVICE Work work_at(char *memory, int nodes, int anchor, float *cost) {
  Work w;
  w.price = (double *)memory;
  w.flow = w.price + nodes;
  w.learned = w.flow + nodes;
  w.words = (int *)(w.learned + anchor);
  w.parent = (Node *)w.words;
  w.size = w.parent + nodes;
  w.order = w.size + nodes;
  w.place = w.order + nodes;
  w.scratch = w.place + nodes;
  w.slot = w.scratch + nodes;
  w.column = w.slot + nodes;
  w.cost = cost;
  return w;
}

// A number that is larger the lower x is.
DEVICE unsigned lowness(float x) {
  unsigned u = bits_of(x);
  return u & 0x80000000u ? u : ~u & 0x7fffffffu;
}

DEVICE int position_of(int word, const int *words, int count) {
  int low = 0;
  while (count > 0) {
    int half = count / 2;
    bool right = words[low + half] < word;
    low = right ? low + half + 1 : low;
    count = right ? count - half - 1 : half;
  }
  return low;
}

// Write the words and masses that two documents do not share.
DEVICE void left_over(const Texts &t, int anchor, int other, Work &w, int &n, int &m) {
  const Long here = t.start[anchor], there = t.start[other];
  const int own = int(t.start[anchor + 1] - here), its = int(t.start[other + 1] - there);
  const int *words = t.word + here;
  for (int p = LANE; p < own; p += LANES) w.price[p] = t.mass[here + p];
  SYNC;
  const unsigned before = (1u << LANE) - 1;
  n = m = 0;
  for (int base = 0; base < its; base += LANES) {
    const int k = base + LANE;
    double left = 0;
    int word = 0;
    if (k < its) {
      word = t.word[there + k];
      left = t.mass[there + k];
      const int p = position_of(word, words, own);
      if (p < own && words[p] == word) {
        const double shared = min(left, w.price[p]);
        left -= shared;
        w.price[p] -= shared;
      }
    }
    const unsigned kept = ballot(left > DUST);
    if (left > DUST) {
      const int at = n + count_of(kept & before);
      w.flow[at] = left;
      w.words[at] = word;
    }
    n += count_of(kept);
  }
  SYNC;
  for (int base = 0; base < own; base += LANES) {
    const int p = base + LANE;
    const double left = p < own ? w.price[p] : 0;
    const unsigned kept = ballot(left > DUST);
    if (left > DUST) {
      const int at = m + count_of(kept & before);
      w.flow[n + at] = left;
      w.words[n + at] = words[p];
      w.column[at] = Node(p);
    }
    m += count_of(kept);
  }
  SYNC;
}

DEVICE float square(float4 x, float4 y, float sum) {
  const float a = x.x - y.x, b = x.y - y.y, c = x.z - y.z, d = x.w - y.w;
  return sum + ((a * a + b * b) + (c * c + d * d));
}

// Write the Euclidean distances of rows to columns.
DEVICE void make_costs(const Texts &t, Work &w, int n, int m) {
  for (int base = 0; base < m; base += LANES) {
    const int j = base + LANE;
    const float4 *y = t.vectors + Long(w.words[n + min(j, m - 1)]) * t.quads;
    for (int i = 0; i < n; i += ROWS_AT_ONCE) {
      float sum[ROWS_AT_ONCE];
      const float4 *x[ROWS_AT_ONCE];
#pragma unroll
      for (int r = 0; r < ROWS_AT_ONCE; r++) {
        sum[r] = 0;
        x[r] = t.vectors + Long(w.words[min(i + r, n - 1)]) * t.quads;
      }
      for (int q = 0; q < t.quads; q++) {
        const float4 own = y[q];
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; r++) sum[r] = square(x[r][q], own, sum[r]);
      }
#pragma unroll
      for (int r = 0; r < ROWS_AT_ONCE; r++)
        if (i + r < n && j < m) w.cost[(i + r) * m + j] = sqrtf(sum[r]);
    }
  }
  SYNC;
}

// Where one side is a single word, it takes everything.
DEVICE double only_plan(const Work &w, int n, int m) {
  double total = 0;
  const double *mass = n == 1 ? w.flow + 1 : w.flow;
  for (int k = LANE; k < max(n, m); k += LANES) total += mass[k] * w.cost[k];
  return sum_of(total);
}

// A lower bound: every word goes to the nearest of the other document; the larger of
// both directions.
DEVICE double relaxed_plan(const Work &w, int n, int m) {
  double forth = 0, back = 0;
  for (int i = LANE; i < n; i += LANES) {
    float least = w.cost[i * m];
    for (int j = 1; j < m; j++) least = min(least, w.cost[i * m + j]);
    forth += w.flow[i] * least;
  }
  for (int j = LANE; j < m; j += LANES) {
    float least = w.cost[j];
    for (int i = 1; i < n; i++) least = min(least, w.cost[i * m + j]);
    back += w.flow[n + j] * least;
  }
  return max(sum_of(forth), sum_of(back));
}

// Offer columns at what was learned, or at minus their lowest cost.
DEVICE void offer_columns(Work &w, int n, int m, bool learned) {
  for (int j = LANE; j < m; j += LANES) {
    if (learned) {
      w.price[n + j] = w.learned[w.column[j]];
      continue;
    }
    float least = w.cost[j];
    for (int i = 1; i < n; i++) least = min(least, w.cost[i * m + j]);
    w.price[n + j] = -least;
  }
  SYNC;
}

// Return the cheapest open column of a row: by single precision, any start is a start.
DEVICE int cheapest(const Work &w, int n, int m, int i, unsigned &key) {
  key = 0;
  int best = 0;
  for (int j = LANE; j < m; j += LANES) {
    const unsigned low = lowness(float(w.cost[i * m + j] + w.price[n + j]));
    if (low > key) key = low, best = j;
  }
  const unsigned lowest = largest_of(key);
  const int winner = first_of(ballot(key == lowest));
  key = lowest;
  return from_lane(best, winner);
}

// Hang rows and columns on each other; return how many hang. Rows go in the order of
// their lowest reduced cost. A row fills its cheapest column until one of both is used
// up; that one hangs on the other. The last open column is the root: all others are in
// `scratch`, children before parents.
DEVICE int greedy_basis(Work &w, int n, int m) {
  unsigned *lowest = (unsigned *)w.price;  // of rows: columns' offers come behind
  for (int k = LANE; k < n + m; k += LANES) w.size[k] = 1;
  for (int i = 0; i < n; i++) {
    unsigned key;
    cheapest(w, n, m, i, key);
    if (LANE == 0) lowest[i] = key;
  }
  SYNC;
  for (int i = LANE; i < n; i += LANES) {
    const unsigned own = lowest[i];
    int rank = 0;
    for (int k = 0; k < n; k++) rank += lowest[k] > own || (lowest[k] == own && k < i);
    w.order[rank] = Node(i);
  }
  SYNC;
  int hung = 0, open = m;
  for (int turn = 0; turn < n; turn++) {
    const int i = w.order[turn];
    double left = w.flow[i];
    while (true) {
      unsigned key;
      const int j = n + cheapest(w, n, m, i, key);
      const double demand = w.flow[j];
      const bool fills = (demand < left - NOTHING || turn == n - 1) && open > 1;
      SYNC;
      if (fills) {
        left = max(left - demand, 0.0);
        open--;
      }
      if (LANE == 0) {
        if (fills) {
          w.parent[j] = Node(i);
          w.size[i] += w.size[j];
          w.scratch[hung] = Node(j);
          w.price[j] = FAR;
        } else {
          w.flow[i] = left;
          w.flow[j] = max(demand - left, 0.0);
          w.parent[i] = Node(j);
          w.size[j] += w.size[i];
          w.scratch[hung] = Node(i);
        }
      }
      hung++;
      SYNC;
      if (!fills) break;
    }
  }
  return hung;
}

DEVICE float edge_cost(const Work &w, int n, int m, int k) {
  const int p = w.parent[k];
  return w.cost[k < n ? k * m + p - n : p * m + k - n];
}

// Put the tree in preorder and price every node from the root on.
DEVICE void number_nodes(Work &w, int n, int m, int hung) {
  int root = 0;
  for (int base = 0; base < m; base += LANES) {
    const int j = base + LANE;
    const unsigned open = ballot(j < m && w.price[n + min(j, m - 1)] < FAR);
    if (open) root = n + base + first_of(open);
  }
  SYNC;
  for (int t = LANE; t < hung; t += LANES) {
    const int k = w.scratch[t];
    w.price[k] = edge_cost(w, n, m, k);
  }
  SYNC;
  if (LANE == 0) {
    w.parent[root] = Node(root);
    w.flow[root] = w.price[root] = 0;
    w.place[root] = 0;
    w.order[0] = Node(root);
    w.slot[root] = 1;
    for (int t = hung - 1; t >= 0; t--) {
      const int k = w.scratch[t], p = w.parent[k], at = w.slot[p];
      w.place[k] = Node(at);
      w.order[at] = Node(k);
      w.slot[p] = Node(at + w.size[k]);
      w.slot[k] = Node(at + 1);
      w.price[k] = k < n ? w.price[p] + w.price[k] : w.price[p] - w.price[k];
    }
  }
  SYNC;
}

// From one end of the entering edge up to the first node whose subtree has the other
// end. Going up, flow on the edges of rows falls on the row's side, and that of columns
// on the column's.
struct Way { int apex, leaving; double least; };

DEVICE Way way_up(const Work &w, int n, int from, int other, bool from_row) {
  const int here = w.place[other];
  Way way = {from, 0, FAR};
  while (true) {
    const int x = way.apex, start = w.place[x];
    if (start <= here && here < start + w.size[x]) return way;
    if ((x < n) == from_row) {
      const double flow = w.flow[x];
      if (flow < way.least || (!from_row && flow <= way.least)) {
        way.least = flow;
        way.leaving = x;
      }
    }
    way.apex = w.parent[x];
  }
}

// Change the flow along one side of the cycle, and the sizes of subtrees.
DEVICE void change_flow(Work &w, int n, int from, int apex, bool from_row, bool inner,
                        int leaving, int moved, double change) {
  bool above = !inner;
  for (int x = from; x != apex; x = w.parent[x]) {
    if (x == leaving) {
      above = true;
      continue;
    }
    w.flow[x] += (x < n) == from_row ? -change : change;
    if (above) w.size[x] += Node(inner ? -moved : moved);
  }
}

// Let the edge (row, column) enter the tree, and the edge that it replaces leave.
DEVICE void pivot(Work &w, int n, int nodes, int row, int column, double reduced) {
#if LANES > 1
  const bool odd = LANE & 1;
  const Way way = way_up(w, n, odd ? column : row, odd ? row : column, !odd);
  const double least_row = from_lane(way.least, 0);
  const double least_column = from_lane(way.least, 1);
  const int leaving_row = from_lane(way.leaving, 0);
  const int leaving_column = from_lane(way.leaving, 1);
  const int apex = way.apex;
#else
  const Way up = way_up(w, n, row, column, true);
  const Way way = way_up(w, n, column, row, false);
  const double least_row = up.least, least_column = way.least;
  const int leaving_row = up.leaving, leaving_column = way.leaving;
  const int apex = up.apex;
#endif
  const bool column_side = least_column <= least_row;
  const double change = column_side ? least_column : least_row;
  const int leaving = column_side ? leaving_column : leaving_row;
  const int inner = column_side ? column : row, outer = column_side ? row : column;
  const double shift = column_side ? -reduced : reduced;

  // The subtree of the leaving node is cut off and hung on the entering edge.
  const int moved = w.size[leaving], old_start = w.place[leaving];
  const int new_start = w.place[outer], new_end = new_start + w.size[outer];
  SYNC;
#if LANES > 1
  if (LANE < 2)
    change_flow(w, n, odd ? column : row, apex, !odd, odd == column_side, leaving, moved,
                change);
#else
  change_flow(w, n, row, apex, true, !column_side, leaving, moved, change);
  change_flow(w, n, column, apex, false, column_side, leaving, moved, change);
#endif
  SYNC;

  // It goes behind its new parent; those in between make room.
  const bool forward = new_start < old_start;
  const int first = forward ? (new_end <= old_start ? new_end : new_start + 1) : old_start;
  const int last = forward ? old_start + moved : new_start + 1;
  const int at = forward ? first : last - moved;
  int filled = at - first;
  // Every node from `inner` up to `leaving` becomes the child of the one below; its own
  // subtree without that branch keeps its order.
  {
    int k = inner, parent = outer, below = 0;
    double flow = change;
    int branch_start = w.place[inner], branch_end = branch_start;
    while (true) {
      const int start = w.place[k], end = start + w.size[k], up = w.parent[k];
      const double old_flow = w.flow[k];
      const int ahead = branch_start - start, rest = end - branch_end;
      for (int t = LANE; t < ahead; t += LANES)
        w.scratch[filled + t] = w.order[start + t];
      for (int t = LANE; t < rest; t += LANES)
        w.scratch[filled + ahead + t] = w.order[branch_end + t];
      filled += ahead + rest;
      branch_start = start;
      branch_end = end;
      SYNC;
      if (LANE == 0) {
        w.parent[k] = Node(parent);
        w.flow[k] = flow;
        w.size[k] = Node(moved - below);
      }
      below = end - start;
      if (k == leaving) break;
      parent = k;
      flow = old_flow;
      k = up;
    }
  }
  const int others = last - first - moved;
  const int from = forward ? first : old_start + moved, to = forward ? moved : 0;
  for (int t = LANE; t < others; t += LANES) w.scratch[to + t] = w.order[from + t];
  SYNC;
  for (int t = LANE; t < last - first; t += LANES) {
    const Node k = w.scratch[t];
    w.order[first + t] = k;
    w.place[k] = Node(first + t);
  }
  SYNC;
  // Only one side of the entering edge changes its prices: the smaller one does.
  if (2 * moved <= nodes) {
    for (int t = at + LANE; t < at + moved; t += LANES) w.price[w.order[t]] += shift;
  } else {
    for (int t = LANE; t < at; t += LANES) w.price[w.order[t]] -= shift;
    for (int t = at + moved + LANE; t < nodes; t += LANES) w.price[w.order[t]] -= shift;
  }
  SYNC;
}

DEVICE double solve(Work &w, int n, int m, double tolerance) {
  const int nodes = n + m, cells = n * m;
  const int rows_on = LANES / m, columns_on = LANES % m;
  number_nodes(w, n, m, greedy_basis(w, n, m));
  int at = 0, clean = 0, pivots = 0;
  while (clean < cells) {
    // The most negative reduced cost of the next ones.
    const int stop = min(at + PRICED * LANES, cells);
    int here = at + LANE, i = here / m, j = here - i * m;
    double best = -tolerance;
    int row = -1, column = 0;
    while (here < stop) {
      float cost[AHEAD];  // loads in flight together
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const int next = here + u * LANES;
        cost[u] = next < stop ? w.cost[next] : 0;
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        if (here < stop) {
          const double reduced = (cost[u] + w.price[n + j]) - w.price[i];
          if (reduced < best) best = reduced, row = i, column = n + j;
        }
        here += LANES;
        i += rows_on;
        j += columns_on;
        if (j >= m) j -= m, i++;
      }
    }
    clean += stop - at;
    at = stop < cells ? stop : 0;
    // Magnitudes of negative numbers rise with their bits.
    const unsigned key = row < 0 ? 0 : bits_of(float(best));
    const unsigned most = largest_of(key);
    if (most == 0) continue;
    const int winner = first_of(ballot(key == most));
    if (++pivots > 100 * nodes + 1000) return GAVE_UP;
    clean = 0;
    pivot(w, n, nodes, from_lane(row, winner), from_lane(column, winner),
          from_lane(best, winner));
  }
  double total = 0;
  for (int t = 1 + LANE; t < nodes; t += LANES) {
    const int k = w.order[t];
    total += w.flow[k] * edge_cost(w, n, m, k);
  }
  return sum_of(total);
}

// Average the anchor's optimal prices over its problems. Prices are free up to a
// constant, so they are compared around their means.
DEVICE void learn(Work &w, int n, int m, int seen) {
  double mean = 0, before = 0;
  for (int j = LANE; j < m; j += LANES) {
    mean += w.price[n + j];
    before += w.learned[w.column[j]];
  }
  const double shift = (sum_of(before) - sum_of(mean)) / m;
  const double rate = max(1.0 / (seen + 1), 0.02);
  for (int j = LANE; j < m; j += LANES) {
    double &known = w.learned[w.column[j]];
    known += rate * (w.price[n + j] + shift - known);
  }
  SYNC;
}

DEVICE void solve_segment(const Texts &t, Work &w, int anchor, const int *others, int count,
                          double tolerance, bool relaxed, double *out) {
  const int own = int(t.start[anchor + 1] - t.start[anchor]);
  for (int p = LANE; p < own; p += LANES) w.learned[p] = 0;
  int seen = 0;
  for (int u = 0; u < count; u++) {
    int n, m;
    double found = 0;
    left_over(t, anchor, others[u], w, n, m);
    if (n > 0 && m > 0) {
      make_costs(t, w, n, m);
      if (relaxed) {
        found = relaxed_plan(w, n, m);
      } else if (n == 1 || m == 1) {
        found = only_plan(w, n, m);
      } else {
        offer_columns(w, n, m, seen > 0);
        found = solve(w, n, m, tolerance);
        learn(w, n, m, seen++);
      }
    }
    if (LANE == 0) out[u] = found;
    SYNC;
  }
}

// Segment s: `anchor[s]` against others[first[s] : first[s] + count[s]], written from
// out[place[s]] on. `nodes`, `longest` and the bytes are the most that a warp needs; `spare`
// is a warp's memory for what is not in shared memory: the tree, then the costs.
#define ARGUMENTS                                                                        \
  const float4 *vectors, int quads, const Long *start, const int *word,                  \
      const double *mass, const int *anchor, const int *others, const Long *first,       \
      const int *count, const Long *place, int segments, int nodes, int longest,         \
      Long tree_bytes, Long cost_bytes, double tolerance, int relaxed, char *spare,      \
      int *taken, double *out

#ifdef __CUDACC__
// A block is one warp.
DEVICE void take_segments(ARGUMENTS, char *tree, float *cost) {
  const Texts texts = {vectors, quads, start, word, mass};
  Work work = work_at(tree, nodes, longest, cost);
  while (true) {
    int s = 0;
    if (LANE == 0) s = atomicAdd(taken, 1);
    s = from_lane(s, 0);
    if (s >= segments) return;
    solve_segment(texts, work, anchor[s], others + first[s], count[s], tolerance,
                  relaxed, out + place[s]);
  }
}

#define PASSED                                                                           \
  vectors, quads, start, word, mass, anchor, others, first, count, place, segments,      \
      nodes, longest, tree_bytes, cost_bytes, tolerance, relaxed, spare, taken, out
KERNEL all_shared(ARGUMENTS) {
  extern __shared__ double memory[];
  char *own = (char *)memory;
  take_segments(PASSED, own, (float *)(own + tree_bytes));
}

KERNEL tree_shared(ARGUMENTS) {
  extern __shared__ double memory[];
  take_segments(PASSED, (char *)memory, (float *)(spare + blockIdx.x * cost_bytes));
}

KERNEL nothing_shared(ARGUMENTS) {
  char *own = spare + blockIdx.x * (tree_bytes + cost_bytes);
  take_segments(PASSED, own, (float *)(own + tree_bytes));
}
#else
KERNEL nothing_shared(ARGUMENTS) {
  const Texts texts = {vectors, quads, start, word, mass};
  Work work = work_at(spare, nodes, longest, (float *)(spare + tree_bytes));
  for (; *taken < segments; ++*taken) {
    const int s = *taken;
    solve_segment(texts, work, anchor[s], others + first[s], count[s], tolerance,
                  relaxed, out + place[s]);
  }
}
#endif
