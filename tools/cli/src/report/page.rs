//! The page: texts, pictures, the data of the runs, and the script that draws the runs.

use super::run::Run;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The contents of the page, which is self-contained.
pub(super) struct Page<'a> {
    pub(super) title: String,
    pub(super) figures: String,
    pub(super) graph: String,
    pub(super) traffic: String,
    pub(super) memory: String,
    pub(super) runs: &'a [Run],
}

impl Page<'_> {
    pub(super) fn html(&self) -> String {
        let runs: Vec<_> = self.runs.iter().map(|run| &run.data).collect();
        // No text of a user's file may end the element.
        let data = serde_json::json!(runs).to_string().replace('<', "\\u003c");
        let title = escaped(&self.title);
        let parts = [
            ("title", title.as_str()),
            ("style", STYLE),
            ("figures", &self.figures),
            ("graph", &self.graph),
            ("traffic", &self.traffic),
            ("memory", &self.memory),
            ("data", &data),
            ("script", SCRIPT),
        ];
        let mut html = String::with_capacity(HTML.len() + data.len());
        let mut rest = HTML;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").expect("the template closes each opening brace");
            let part = parts.iter().find(|(part, _)| *part == name).expect("the template names only these parts");
            html.push_str(before);
            html.push_str(part.1);
            rest = after;
        }
        html + rest
    }
}

/// Escapes a text for HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
