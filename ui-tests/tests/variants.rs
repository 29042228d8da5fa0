//! The variants of the layer on another bundled layer than the one they are built for as examples, where no tile divides the
//! sizes and some experts have no row. Each brings its own test.

#[path = "../../examples/support/mod.rs"]
mod support;

macro_rules! variants {
    ($($name:ident: $variant:ident),*) => {$(
        #[allow(dead_code, reason = "its main function")]
        mod $name {
            use super::support;
            include!(concat!(env!("OUT_DIR"), "/", stringify!($variant), ".rs"));
        }
    )*};
}

variants!(clipped: moe_clipped, biased: moe_biased, int8: moe_int8, prescaled: moe_prescaled);
