//! Starts the dashboard in the page that loads it.

fn main() {
    dashboard::start();
}
