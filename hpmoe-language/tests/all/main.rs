//! All tests of this package that are outside of its sources, in one program. A module is a group that can be run alone:
//! `cargo test -p hpmoe-language --test all expansion`.

mod example;
mod expansion;
mod front;
mod layers;
mod mistakes;
mod parts;
