//! Immediate dominators by Lengauer and Tarjan's algorithm (TOPLAS 1979) with path compression.
//!
//! Its bound holds for every graph, so that a hostile one costs no more than a large one.

/// Which blocks dominate which. Blocks are numbered as in the function; 0 is the entry.
pub(crate) struct Dominators {
    /// By block: entry and exit time in the dominator tree; unreachable blocks have none.
    interval: Vec<Option<(u32, u32)>>,
}

const NONE: usize = usize::MAX;

impl Dominators {
    pub fn new(successors: &[Vec<usize>]) -> Self {
        let blocks = successors.len();
        let mut search = Search::new(blocks);
        search.number(successors);
        let idom = search.immediate_dominators(successors);
        Self { interval: intervals(&idom, &search.vertex, blocks) }
    }

    pub fn is_reachable(&self, block: usize) -> bool {
        self.interval[block].is_some()
    }

    /// Whether every path from the entry to `b` goes through `a`. Both are reachable.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        match (self.interval[a], self.interval[b]) {
            (Some((enter, exit)), Some((at, _))) => enter <= at && at < exit,
            _ => false,
        }
    }

    /// Whether every reachable block stands behind those that dominate it.
    pub fn follow_order(&self) -> bool {
        let mut blocks: Vec<(u32, u32, usize)> = self
            .interval
            .iter()
            .enumerate()
            .filter_map(|(block, interval)| interval.map(|(enter, exit)| (enter, exit, block)))
            .collect();
        blocks.sort_unstable();
        // Those that dominate the block that is looked at.
        let mut open: Vec<(u32, usize)> = Vec::new();
        blocks.into_iter().all(|(enter, exit, block)| {
            while open.last().is_some_and(|&(end, _)| end <= enter) {
                open.pop();
            }
            let behind = open.last().is_none_or(|&(_, dominator)| dominator < block);
            open.push((exit, block));
            behind
        })
    }
}

struct Search {
    /// By block: its number in depth-first order.
    order: Vec<usize>,
    /// By number: the block.
    vertex: Vec<usize>,
    /// By number, like all that follow.
    parent: Vec<usize>,
    semi: Vec<usize>,
    ancestor: Vec<usize>,
    label: Vec<usize>,
}

impl Search {
    fn new(blocks: usize) -> Self {
        Self {
            order: vec![NONE; blocks],
            vertex: Vec::with_capacity(blocks),
            parent: Vec::with_capacity(blocks),
            semi: Vec::new(),
            ancestor: Vec::new(),
            label: Vec::new(),
        }
    }

    fn number(&mut self, successors: &[Vec<usize>]) {
        if successors.is_empty() {
            return;
        }
        let mut stack = vec![(0, NONE)];
        while let Some((block, parent)) = stack.pop() {
            if self.order[block] != NONE {
                continue;
            }
            let number = self.vertex.len();
            self.order[block] = number;
            self.vertex.push(block);
            self.parent.push(parent);
            stack.extend(successors[block].iter().map(|&next| (next, number)));
        }
        self.semi = (0..self.vertex.len()).collect();
        self.label = self.semi.clone();
        self.ancestor = vec![NONE; self.vertex.len()];
    }

    /// By number: the number of the immediate dominator.
    fn immediate_dominators(&mut self, successors: &[Vec<usize>]) -> Vec<usize> {
        let count = self.vertex.len();
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); count];
        for number in 0..count {
            for &next in &successors[self.vertex[number]] {
                predecessors[self.order[next]].push(number);
            }
        }
        let mut idom = vec![0; count];
        let mut bucket: Vec<Vec<usize>> = vec![Vec::new(); count];
        for w in (1..count).rev() {
            for &v in &predecessors[w] {
                let u = self.eval(v);
                self.semi[w] = self.semi[w].min(self.semi[u]);
            }
            bucket[self.semi[w]].push(w);
            let parent = self.parent[w];
            self.ancestor[w] = parent;
            for v in std::mem::take(&mut bucket[parent]) {
                let u = self.eval(v);
                idom[v] = if self.semi[u] < self.semi[v] { u } else { parent };
            }
        }
        for w in 1..count {
            if idom[w] != self.semi[w] {
                idom[w] = idom[idom[w]];
            }
        }
        idom
    }

    /// The number of least semidominator on the path to the root of `v`'s tree in the forest.
    fn eval(&mut self, v: usize) -> usize {
        if self.ancestor[v] == NONE {
            return self.label[v];
        }
        let mut path = vec![v];
        let mut at = v;
        while self.ancestor[self.ancestor[at]] != NONE {
            at = self.ancestor[at];
            path.push(at);
        }
        // The last of the path has a root for ancestor and stays.
        path.pop();
        for &at in path.iter().rev() {
            let ancestor = self.ancestor[at];
            if self.semi[self.label[ancestor]] < self.semi[self.label[at]] {
                self.label[at] = self.label[ancestor];
            }
            self.ancestor[at] = self.ancestor[ancestor];
        }
        self.label[v]
    }
}

fn intervals(idom: &[usize], vertex: &[usize], blocks: usize) -> Vec<Option<(u32, u32)>> {
    let count = vertex.len();
    // Children have higher numbers than their immediate dominator, so sizes add up from the end.
    let mut size = vec![1u32; count];
    for w in (1..count).rev() {
        size[idom[w]] += size[w];
    }
    let mut interval = vec![None; blocks];
    let mut next: Vec<u32> = vec![0; count];
    for w in 0..count {
        let enter = if w == 0 { 0 } else { next[idom[w]] };
        if w > 0 {
            next[idom[w]] += size[w];
        }
        next[w] = enter + 1;
        interval[vertex[w]] = Some((enter, enter + size[w]));
    }
    interval
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition: `a` dominates `b` if removing `a` makes `b` unreachable.
    fn dominates_by_removal(successors: &[Vec<usize>], a: usize, b: usize) -> bool {
        let mut seen = vec![false; successors.len()];
        let mut work = vec![0];
        while let Some(at) = work.pop() {
            if at != a && !std::mem::replace(&mut seen[at], true) {
                work.extend(&successors[at]);
            }
        }
        a == b || !seen[b]
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..300 {
            let blocks = 1 + random(12);
            let successors: Vec<Vec<usize>> =
                (0..blocks).map(|_| (0..random(4)).map(|_| random(blocks)).collect()).collect();
            let dominators = Dominators::new(&successors);
            let reachable = |block| block == 0 || !dominates_by_removal(&successors, NONE, block);
            for a in 0..blocks {
                assert_eq!(dominators.is_reachable(a), reachable(a), "{successors:?} {a}");
                for b in (0..blocks).filter(|&b| reachable(a) && reachable(b)) {
                    let wanted = dominates_by_removal(&successors, a, b);
                    assert_eq!(dominators.dominates(a, b), wanted, "{successors:?} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn long_chains_take_no_recursion_and_little_time() {
        let count = 200_000;
        let successors: Vec<Vec<usize>> =
            (0..count).map(|at| if at + 1 < count { vec![at + 1] } else { vec![1] }).collect();
        let dominators = Dominators::new(&successors);
        assert!(dominators.dominates(0, count - 1) && !dominators.dominates(count - 1, 1));
    }
}
