//! The stages of a layer: work on tokens, on sent rows, on rows of experts, and on returned rows.

use crate::body::{Body, Size, body};
use crate::draw::{once_in, one_of};
use crate::layer::{Layer, columns};
use crate::nest::Space;
use crate::tensor::{Element, Origin, Rows, Tensor, WeightsKind};
use fastrand::Rng;
use std::fmt::Write as _;

impl Layer {
    /// Adds a task on blocks of tokens. The blocks of two tasks rarely nest.
    pub(crate) fn of_tokens(&mut self, rng: &mut Rng) {
        let block = one_of(rng, &[1, 3, 4, 9]);
        let space = if self.makes_route { Space::EarlyBlocks(block) } else { Space::Blocks(block) };
        if once_in(rng, 3) {
            self.product(rng, space, Rows::Tokens, block);
        } else {
            self.vector(rng, space, Rows::Tokens, block, None);
        }
    }

    /// Sends tokens, or the caller's slots, to the ranks of their experts.
    pub(crate) fn send(&mut self, rng: &mut Rng) {
        for _ in 0..rng.usize(1..=2) {
            let put = one_of(rng, &[2, 5, 8]);
            let of_slots = !self.makes_route && self.chunks.is_none() && once_in(rng, 5);
            let from = if of_slots {
                let (element, columns) = (Element::any(rng), columns(rng));
                let slots = self.tensor(Rows::Slots, element, columns, Origin::Given);
                self.tensors[slots].read = true;
                slots
            } else {
                self.pick(rng, Rows::Tokens, None).expect("some tensor has a row for each token")
            };
            let (element, width) = (self.tensors[from].element, self.tensors[from].columns);
            let once = !of_slots && self.rows_can_be_parameters() && once_in(rng, 4);
            let by_peers = Origin::Made { by_peers: true };
            let to = self.tensor(if once { Rows::Once } else { Rows::Received }, element, width, by_peers);
            let task = self.put(element, put, width);
            let text = format!(
                "{task}(&{}[src].gather(&s), &mut {}[e.owner()].rows_of(&s));",
                self.tensors[from].name, self.tensors[to].name
            );
            let space = if once { Space::SendsOnce(put) } else { Space::Sends(put) };
            self.call(rng, space, text, Vec::new());
            if once {
                self.tensors[to].read = true;
                let rows = self.tensor(Rows::Received, element, width, Origin::Made { by_peers: false });
                let copy = one_of(rng, &[3, 4, 8]);
                let task = self.put(element, copy, width);
                let text = format!(
                    "{task}(&{}[r].gather(e, m), &mut {}[r].group(e, m));",
                    self.tensors[to].name, self.tensors[rows].name
                );
                self.call(rng, Space::RowTiles(copy), text, Vec::new());
            }
        }
    }

    fn put(&mut self, element: Element, rows: usize, columns: usize) -> String {
        let tile = format!("Tile<{}, {rows}, {columns}>", element.name());
        self.task("comm_put", &format!("from: &{tile}, to: &mut {tile}"), "        to.put(from);\n")
    }

    /// Adds a task on rows of experts.
    pub(crate) fn of_rows(&mut self, rng: &mut Rng) {
        let height = one_of(rng, &[3, 4, 8, 16]);
        match rng.usize(..9) {
            0..3 => self.vector(rng, Space::RowTiles(height), Rows::Received, height, None),
            3 => {
                let put = one_of(rng, &[2, 5, 8]);
                self.vector(rng, Space::Sends(put), Rows::Received, put, None);
            }
            4..7 => self.product(rng, Space::RowTiles(height), Rows::Received, height),
            _ => self.gradient(rng),
        }
    }

    /// Adds a vector task on tiles of `height` rows. With `sum`, it also takes the slots of each token: a tensor of slots, and optionally
    /// one of weights.
    fn vector(&mut self, rng: &mut Rng, space: Space, rows: Rows, height: usize, sum: Option<(usize, Option<usize>)>) {
        let base = match sum {
            Some((slots, _)) => slots,
            None => self.pick(rng, rows, None).expect("some tensor has rows of this kind"),
        };
        let width = self.tensors[base].columns;
        let whole = once_in(rng, 2);
        let tile = if whole { width } else { rng.usize(1..=width) };
        let columns = if whole { "" } else { ".cols(n)" };
        let (mut tiles, mut parameters, mut arguments) = (Vec::new(), String::new(), String::new());
        let mut given = |element: Element, rows: usize, columns: usize, argument: String| {
            let name = format!("a{}", arguments.matches('&').count());
            let _ = write!(parameters, "{name}: &Tile<{}, {rows}, {columns}>, ", element.name());
            let _ = write!(arguments, "&{argument}, ");
            name
        };
        let place = |tensor: &Tensor| match space {
            Space::Blocks(_) | Space::EarlyBlocks(_) if tensor.rows == Rows::Slots => {
                format!("{}[r].slots(t)", tensor.name)
            }
            Space::Blocks(_) | Space::EarlyBlocks(_) => format!("{}[r].rows(t)", tensor.name),
            Space::Sends(_) | Space::SendsOnce(_) => format!("{}[e.owner()].rows_of(&s)", tensor.name),
            Space::RowTiles(_) | Space::Experts => format!("{}[r].group(e, m)", tensor.name),
        };
        let first = &self.tensors[base];
        let at = format!("{}{columns}", place(first));
        tiles.push(match sum {
            None => (given(first.element, height, tile, at) + ".load()", Size::Full),
            Some((_, weights)) => {
                let slots = given(first.element, height * self.top_k, tile, at);
                let sum = match weights.map(|weights| &self.tensors[weights]) {
                    Some(weights) => {
                        let name = given(weights.element, height, self.top_k, place(weights));
                        format!("{slots}.load().weighted_sum(&{name}.load())")
                    }
                    None => format!("{slots}.load().fold_rows::<{height}>()"),
                };
                (sum, Size::Full)
            }
        });
        let mut read = Vec::new();
        for other in self.with_rows(rows) {
            let tensor = &self.tensors[other];
            // Before the route there are tokens alone, and a tile of one column is not cut.
            let fits = tensor.columns == width || tensor.columns == 1;
            if other != base && fits && read.len() < 2 && once_in(rng, 2) {
                let (size, columns, width) =
                    if tensor.columns == width { (Size::Full, columns, tile) } else { (Size::Column, "", 1) };
                let tile = given(tensor.element, height, width, format!("{}{columns}", place(tensor)));
                tiles.push((tile + ".load()", size));
                read.push(other);
            }
        }
        if once_in(rng, 4) && width > 1 {
            let of_tokens = matches!(space, Space::Blocks(_) | Space::EarlyBlocks(_));
            let element = Element::any(rng);
            let name = format!("w{}", self.weights.len());
            let at = if of_tokens { format!("{name}[r]") } else { format!("{name}[{}].expert(e)", owner(space)) };
            let (rows, row) = one_row(rng, whole && of_tokens);
            tiles.push((given(element, 1, tile, format!("{at}{row}{columns}")) + ".load()", Size::Row));
            self.weights(if of_tokens { WeightsKind::Matrix } else { WeightsKind::Experts }, element, rows, width);
        }
        read.into_iter().for_each(|tensor| self.tensors[tensor].read = true);
        let Body { mut text, result, columns: out } = body(rng, &tiles, width, whole);
        let second = once_in(rng, 6);
        let mut outputs = vec![(result, if whole { out } else { width }, if whole { out } else { tile })];
        if second {
            outputs.push(("&v0 * 0.5".to_owned(), width, tile));
        }
        for (number, (result, width, tile)) in outputs.into_iter().enumerate() {
            let element = Element::any(rng);
            let made = self.tensor(rows, element, width, Origin::Made { by_peers: false });
            let _ = writeln!(text, "        y{number}.store({result});");
            let _ = write!(parameters, "y{number}: &mut Tile<{}, {height}, {tile}>, ", element.name());
            let _ = write!(arguments, "&mut {}{columns}, ", place(&self.tensors[made]));
        }
        let task = self.task("aiv_task", parameters.trim_end_matches(", "), &text);
        let ranges = if whole { Vec::new() } else { vec![("n", width.div_ceil(tile))] };
        self.call(rng, space, format!("{task}({});", arguments.trim_end_matches(", ")), ranges);
    }

    /// Adds a product of rows with weights, or the sum of two such products.
    fn product(&mut self, rng: &mut Rng, space: Space, rows: Rows, height: usize) {
        let Some(first) = self.pick(rng, rows, None) else { return };
        let (row, matrix, kind) = match rows {
            Rows::Tokens => (".rows(t)", "", WeightsKind::Matrix),
            _ => (".group(e, m)", ".expert(e)", WeightsKind::Experts),
        };
        let (width, element) = (columns(rng), Element::any(rng));
        let any = rng.usize(1..=width);
        let tile = one_of(rng, &[width, 16.min(width), any]);
        let second = once_in(rng, 4).then(|| self.pick(rng, rows, None)).flatten();
        let (mut parameters, mut arguments, mut sum) = (String::new(), String::new(), String::new());
        for (number, factor) in [Some(first), second].into_iter().flatten().enumerate() {
            let (name, depth) = (self.tensors[factor].name.clone(), self.tensors[factor].columns);
            let of = self.tensors[factor].element;
            let transposed = of == Element::F32 || once_in(rng, 2);
            let _ = write!(parameters, "x{number}: &Tile<{}, {height}, {depth}>, ", of.name());
            let _ = write!(arguments, "&{name}[r]{row}, ");
            let (tall, columns, at, size) = if transposed {
                (width, depth, "tile(n)", format!("{tile}, {depth}"))
            } else {
                (depth, width, "cols(n)", format!("{depth}, {tile}"))
            };
            let (all_rows, part) = stacked(rng, tall);
            let weights = self.weights(kind, of, all_rows, columns);
            let _ = write!(parameters, "w{number}: &Tile<{}, {size}>, ", of.name());
            let _ = write!(arguments, "&{weights}[r]{matrix}{part}.{at}, ");
            let method = if transposed { "matmul_t" } else { "matmul" };
            sum = match number {
                0 => format!("x0.{method}(w0)"),
                _ => format!("{sum}.add_{method}(x1, w1)"),
            };
        }
        if once_in(rng, 4) {
            sum.push_str(".relu()");
        }
        let made = self.tensor(rows, element, width, Origin::Made { by_peers: false });
        let _ = write!(parameters, "y: &mut Tile<{}, {height}, {tile}>", element.name());
        let _ = write!(arguments, "&mut {}[r]{row}.cols(n)", self.tensors[made].name);
        let task = self.task("aic_task", &parameters, &format!("        y.store({sum});\n"));
        self.call(rng, space, format!("{task}({arguments});"), vec![("n", width.div_ceil(tile))]);
    }

    /// Adds a product over all rows of an expert.
    fn gradient(&mut self, rng: &mut Rng) {
        let Some(left) = self.pick(rng, Rows::Received, Some(Element::FACTORS)) else { return };
        let of = self.tensors[left].element;
        let right = self.pick(rng, Rows::Received, Some(&[of])).expect("the left factor has this type");
        let adds = self.chunks.is_some() || once_in(rng, 2);
        let element = if adds { Element::F32 } else { Element::any(rng) };
        let [rows, columns] = [left, right].map(|factor| self.tensors[factor].columns);
        let [tall, wide] = [rows, columns].map(|size| one_of(rng, &[size, 16.min(size), 1 + size / 2]));
        let (all_rows, part) = stacked(rng, rows);
        let to = self.weights(WeightsKind::Gradient, element, all_rows, columns);
        let store = if adds { "accumulate" } else { "store" };
        let parameters = format!(
            "x: &Tile<{of}, RAGGED, {tall}>, g: &Tile<{of}, RAGGED, {wide}>, d: &mut Tile<{}, {tall}, {wide}>",
            element.name(),
            of = of.name()
        );
        let task = self.task("aic_task", &parameters, &format!("        d.{store}(x.t_matmul(g));\n"));
        let [x, g] = [left, right].map(|factor| &self.tensors[factor].name);
        let text = format!(
            "{task}(&{x}[r].expert(e).cols(i), &{g}[r].expert(e).cols(n), &mut {to}[r].expert(e){part}.tile(i).cols(n));"
        );
        let ranges = vec![("i", rows.div_ceil(tall)), ("n", columns.div_ceil(wide))];
        self.call(rng, Space::Experts, text, ranges);
    }

    /// Sends rows back to the slots of their tokens, and sums over the slots.
    pub(crate) fn give_back(&mut self, rng: &mut Rng) {
        let rows = self.pick(rng, Rows::Received, None).expect("some tensor has received rows");
        self.give_back_rows(rng, rows);
    }

    pub(crate) fn give_back_rows(&mut self, rng: &mut Rng, rows: usize) {
        let put = one_of(rng, &[2, 5, 8]);
        let (name, element, width) =
            (self.tensors[rows].name.clone(), self.tensors[rows].element, self.tensors[rows].columns);
        let task = self.put(element, put, width);
        let slots = self.tensor(Rows::Slots, element, width, Origin::Made { by_peers: true });
        let text =
            format!("{task}(&{name}[e.owner()].rows_of(&s), &mut {}[src].scatter(&s));", self.tensors[slots].name);
        self.call(rng, Space::Sends(put), text, Vec::new());
        self.tensors[slots].read = true;
        let weights = once_in(rng, 2).then(|| {
            let weights = self.tensor(Rows::Tokens, Element::F32, self.top_k, Origin::Given);
            self.tensors[weights].read = true;
            weights
        });
        let block = one_of(rng, &[1, 3, 4]);
        self.vector(rng, Space::Blocks(block), Rows::Tokens, block, Some((slots, weights)));
    }
}

/// The number of rows of a tensor that may consist of several matrices with `rows` rows each, and the accessor for the matrix.
fn stacked(rng: &mut Rng, rows: usize) -> (usize, String) {
    if !once_in(rng, 3) {
        return (rows, String::new());
    }
    let (before, after) = (rng.usize(..3), rng.usize(..=2 * rows));
    ((before + 1) * rows + after, format!(".tile::<{rows}>({before})"))
}

/// Like [`stacked`], for a single row of a matrix or of a part of it. If a rank's matrix is not `cut` by columns, it is cut by rows.
fn one_row(rng: &mut Rng, cut: bool) -> (usize, String) {
    let (part, row) = (rng.usize(..3), rng.usize(..3));
    match rng.usize(..4) {
        0 => ((3 * part + row + 1 + rng.usize(..3)).max(3), format!(".tile::<3>({part}).tile({row})")),
        1 => (row + 1 + rng.usize(..3), format!(".tile({row})")),
        _ if cut => (1, ".tile(0)".to_owned()),
        _ => (1, String::new()),
    }
}

fn owner(space: Space) -> &'static str {
    if matches!(space, Space::Sends(_) | Space::SendsOnce(_)) { "e.owner()" } else { "r" }
}
