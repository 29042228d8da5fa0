//! Writes and reads the value of a choice.

use super::decisions::{ByArrival, PeerCores, ReturnCores};

/// A value that a choice can have.
pub(super) trait ChoiceValue: Sized {
    /// The spelling of the value in files and on the command line.
    fn written(self) -> String;

    /// The value with this spelling; `None` if it is not one, or a number outside the limits.
    fn read(text: &str, limits: (u32, u32)) -> Option<Self>;

    /// The possible values, in words.
    fn known(limits: (u32, u32)) -> String;
}

impl ChoiceValue for u32 {
    fn written(self) -> String {
        self.to_string()
    }
    fn read(text: &str, (least, most): (u32, u32)) -> Option<Self> {
        text.parse().ok().filter(|value| (least..=most).contains(value))
    }
    fn known((least, most): (u32, u32)) -> String {
        format!("{least} to {most}")
    }
}

impl ChoiceValue for bool {
    fn written(self) -> String {
        self.to_string()
    }
    fn read(text: &str, _: (u32, u32)) -> Option<Self> {
        text.parse().ok()
    }
    fn known(_: (u32, u32)) -> String {
        "`true` or `false`".to_owned()
    }
}

impl ChoiceValue for Option<u32> {
    fn written(self) -> String {
        self.map_or_else(|| "auto".to_owned(), u32::written)
    }
    fn read(text: &str, limits: (u32, u32)) -> Option<Self> {
        if text == "auto" { Some(None) } else { u32::read(text, limits).map(Some) }
    }
    fn known(limits: (u32, u32)) -> String {
        format!("`auto` or {}", u32::known(limits))
    }
}

impl ChoiceValue for PeerCores {
    fn written(self) -> String {
        match self {
            Self::Shared => "shared".to_owned(),
            Self::Dedicated { percent } => percent.to_string(),
        }
    }
    fn read(text: &str, limits: (u32, u32)) -> Option<Self> {
        match text {
            "shared" => Some(Self::Shared),
            percent => u32::read(percent, limits).map(|percent| Self::Dedicated { percent }),
        }
    }
    fn known(limits: (u32, u32)) -> String {
        format!("`shared` or {}", u32::known(limits))
    }
}

/// Values that are plain words.
macro_rules! words {
    ($($kind:ident { $($name:ident: $word:literal),* } $known:literal)*) => {$(
        impl ChoiceValue for $kind {
            fn written(self) -> String {
                match self { $(Self::$name => $word.to_owned()),* }
            }
            fn read(text: &str, _: (u32, u32)) -> Option<Self> {
                match text { $($word => Some(Self::$name),)* _ => None }
            }
            fn known(_: (u32, u32)) -> String {
                $known.to_owned()
            }
        }
    )*};
}

words! {
    ByArrival { Never: "never", WholeExperts: "whole_experts", Always: "always" } "`never`, `whole_experts` or `always`"
    ReturnCores { Sending: "sending", Computing: "computing" } "`sending` or `computing`"
}
