//! Random operands that a row accepts.

use std::fmt;

use hpmoe_kernels::op::{self, AnyValue, Columns, Device, ElementType, Given, OperandKind, Operation, Shape, Spread};

/// Maximum number of bytes of UB that a case may take.
const UB: usize = 170 * 1024;

/// The operands of a case, and the sizes that follow from them.
pub(crate) struct Drawn {
    pub(crate) values: Vec<AnyValue>,
    pub(crate) numbers: Vec<f32>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) result: Shape,
    /// Rows and columns of each scratch value.
    pub(crate) scratch: Vec<[usize; 2]>,
}

impl Drawn {
    pub(crate) fn given(&self, element: Option<ElementType>) -> Given<'_> {
        Given { values: &self.values, numbers: &self.numbers, sizes: &self.sizes, element }
    }

    /// Number of rows of the first operand per row of the result.
    pub(crate) fn terms(&self) -> usize {
        self.values[0].rows() / self.result.rows
    }

    /// The spread that gives an operand the size of the result, if it needs one.
    fn spread_of(&self, operand: &AnyValue) -> Option<Spread> {
        op::spread(&value(operand.rows(), operand.cols()), &self.result)
    }

    /// The spread that gives the second operand the size of the result, if it needs one.
    pub(crate) fn spread(&self) -> Option<Spread> {
        self.spread_of(self.values.get(1)?)
    }

    /// Bytes of UB that the case takes in the test's program, which has each operand twice.
    fn bytes(&self) -> usize {
        let bytes = |rows: usize, cols: usize| rows * cols.next_multiple_of(16) * 4 + 32;
        let spread = |value: &AnyValue| match self.spread_of(value) {
            Some(_) => bytes(self.result.rows, self.result.cols.max(value.cols())),
            None => 0,
        };
        let operand = |value: &AnyValue| 2 * bytes(value.rows(), value.cols()) + spread(value);
        let operands: usize = self.values.iter().map(operand).sum();
        let scratch: usize = self.scratch.iter().map(|[rows, cols]| bytes(*rows, *cols)).sum();
        operands + scratch + bytes(self.result.rows, self.result.cols)
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for value in &self.values {
            write!(f, "{}x{} ", value.rows(), value.cols())?;
            let few = value.as_slice().len() <= 64;
            if few {
                write!(f, "{:?} ", value.as_slice())?;
            }
        }
        write!(f, "numbers {:?} sizes {:?}", self.numbers, self.sizes)
    }
}

/// A generator for one case of one row.
pub(crate) struct Draw {
    state: u64,
    case: u64,
}

impl Draw {
    pub(crate) fn new(row: u64, case: u64) -> Self {
        Self { state: (row << 32 | case).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51ed_270b, case }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Operands for an operation.
    ///
    /// # Panics
    ///
    /// If the operation's rule accepts none of many attempts.
    pub(crate) fn operands(&mut self, operation: &Operation) -> Drawn {
        for attempt in 0..10_000 {
            // Some rows accept no operands of some sizes, so after 100 attempts another kind of size is tried.
            if let Some(drawn) = self.attempt(operation, self.case + attempt / 100).filter(|drawn| drawn.bytes() <= UB)
            {
                return drawn;
            }
        }
        panic!("no operands fit `{}`", operation.name());
    }

    fn attempt(&mut self, operation: &Operation, sizes: u64) -> Option<Drawn> {
        let (rows, cols) = self.first_size(sizes);
        let (mut shapes, mut numbers, mut given) = (Vec::new(), Vec::new(), Vec::new());
        for kind in operation.operands {
            match kind {
                OperandKind::Value if shapes.is_empty() => shapes.push(value(rows, cols)),
                OperandKind::Value => {
                    let divisor = self.one_of(&[1, 2, 3, 4, 8]);
                    let sizes =
                        [(rows, cols), (1, cols), (rows, 1), (1, 1), (rows / divisor, divisor), (rows, divisor)];
                    let (rows, cols) = self.one_of(&sizes);
                    shapes.push(value(rows, cols));
                }
                OperandKind::Number => {
                    let number = self.number();
                    numbers.push(if number.is_finite() { number } else { 1.5 });
                }
                OperandKind::Size | OperandKind::Index => {
                    let factor = self.one_of(&[1, 2, 3, 4, 8]);
                    let any = self.below(cols + 1);
                    let size = self.one_of(&[rows / factor, rows * factor, cols / factor, cols * factor, factor, any]);
                    given.push(size);
                    shapes.push(Shape { kind: *kind, element: ElementType::f32, rows: size, cols: 0 });
                }
                OperandKind::Tile => return None,
            }
        }
        (operation.numbers)(&numbers).ok()?;
        let element = operation.takes_element.then_some(ElementType::bf16);
        let result = (operation.shape)(&shapes, element).ok()?;
        if shapes.iter().any(|shape| shape.rows == 0 && shape.kind != OperandKind::Index) {
            return None;
        }
        let scratch = match operation.device {
            Device::Vector { scratch, .. } => scratch,
            Device::Routine(routine) => routine.scratch,
            _ => &[Columns::OfResult],
        };
        let rows_of = |columns: Columns| if columns.is_single() { 1 } else { result.rows };
        let size_of = |columns: &Columns| [rows_of(*columns), columns.count(&shapes[0], &result)];
        let scratch = scratch.iter().map(size_of).collect();
        let close = self.case % 4 == 3;
        let numbers_of = |draw: &mut Self, shape: &Shape| {
            let draw_one = |_| if close { draw.near_one() } else { draw.number() };
            AnyValue::new(shape.rows, shape.cols, (0..shape.rows * shape.cols).map(draw_one).collect())
        };
        let of_values = shapes.iter().filter(|shape| shape.kind == OperandKind::Value);
        let values = of_values.map(|shape| numbers_of(self, shape)).collect();
        Some(Drawn { values, numbers, sizes: given, result, scratch })
    }

    /// Rows and columns near the limits of calls: 16 and 64 columns, 255 repeats, strides of 255 blocks.
    fn first_size(&mut self, sizes: u64) -> (usize, usize) {
        match sizes % 10 {
            0 => (1, 1),
            1 => (1, 1 + self.below(200)),
            2 => (1 + self.below(40), 1),
            3 => (254 + self.below(12), 1 + self.below(16)),
            4 => (1 + self.below(2), 2030 + self.below(40)),
            5 => (1 + self.below(12), self.one_of(&[15, 16, 17, 63, 64, 65, 127, 128, 129])),
            6 => (self.one_of(&[8, 16, 24]), self.one_of(&[16, 32, 64, 256])),
            _ => (1 + self.below(24), 1 + self.below(150)),
        }
    }

    /// Any f32. Special values are frequent.
    fn number(&mut self) -> f32 {
        match self.below(10) {
            0 => {
                let special = [0, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000, 0x3f80_0000];
                f32::from_bits(self.one_of(&special) | (self.next() as u32 & 0x8000_0000))
            }
            1 => f32::from_bits(self.next() as u32),
            2 => (self.below(41) as f32 - 20.0) / 2.0,
            // Small and large numbers like ids.
            9 => (self.below(34) * self.one_of(&[1, 1, 8])) as f32,
            // Only seven values, so that numbers are often equal.
            5 | 6 => self.below(7) as f32 - 3.0,
            3 => self.near_one() * 60.0,
            4 => self.near_one() * 1e-3,
            7 => self.near_one() * 10.0,
            _ => self.near_one() * 4.0,
        }
    }

    /// A number between -1 and 1.
    fn near_one(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn value(rows: usize, cols: usize) -> Shape {
    Shape { kind: OperandKind::Value, element: ElementType::f32, rows, cols }
}
