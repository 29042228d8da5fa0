//! All tests of this package outside of its sources, in one program. A module is a group that can run alone:
//! `cargo test -p hpmoe-core --test all expansion`.

mod agreement;
mod boundaries;
mod edited;
mod example;
mod expansion;
mod front;
mod goldens;
mod knobs;
mod layers;
mod loops;
mod mistakes;
mod nested;
mod parts;
mod sources;
mod support;
