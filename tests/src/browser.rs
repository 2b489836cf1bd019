//! A real browser, driven through chromedriver.
