//! The pages of docs/ say what is true: links lead somewhere, listings are part of their files, and commands print what is shown.

mod cargo;
mod commands;
mod design;
mod errors;
mod links;
mod listings;
mod pages;
mod pattern;
mod variants;
mod versions;
