//! Texts of a document as comments.

/// The width of a line.
const WIDTH: usize = 100;

/// The lines of a doc comment, indented by so many spaces, each with its end.
pub fn comment(indent: usize, text: &str) -> String {
    let margin = format!("{:indent$}///", "");
    let mut comment = String::new();
    for line in text.lines() {
        let mut current = margin.clone();
        for word in line.split(' ') {
            if current.len() > margin.len()
                && current.chars().count() + 1 + word.chars().count() > WIDTH
            {
                comment += &format!("{}\n", current.trim_end());
                current.clone_from(&margin);
            }
            current += " ";
            current += word;
        }
        comment += &format!("{}\n", current.trim_end());
    }
    comment
}

/// Whether schemars reads this text out of a doc comment as it is.
pub fn is_comment(text: &str) -> bool {
    let is_plain = |paragraph: &str| {
        let odd = paragraph.contains('\n') || paragraph.contains("  ") || paragraph.contains('\t');
        !odd && !paragraph.is_empty()
            && paragraph.trim() == paragraph
            && !paragraph.starts_with('*')
    };
    !text.starts_with('#') && text.split("\n\n").all(is_plain)
}

/// Whether dropshot reads this text out of the one line of a doc comment as a summary.
pub fn is_summary(text: &str) -> bool {
    is_comment(text) && !text.contains('\n')
}

/// A text as Rust writes it, raw where that reads better.
pub fn literal(text: &str) -> String {
    let is_raw = text.contains(['"', '\\']) || text.contains('\n');
    if !is_raw {
        return format!("{text:?}");
    }
    let mut hashes = String::new();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}
