//! Prints the tables of docs/configuration.md, which a test compares with the page.

fn main() {
    print!("{}", shared::config::fields_markdown());
}
