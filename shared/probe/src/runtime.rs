//! What std would bring: memory, and an end for panics.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, unreachable};

const PAGE_BYTES: usize = 64 * 1024;

/// Takes fresh pages for each piece and gives none back. The module is never run.
struct Pages;

#[global_allocator]
static PAGES: Pages = Pages;

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait, and std, which has one, is not linked"
)]
// SAFETY: each piece is of pages that are its own, aligned to a page, and never given out again.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = memory_grow::<0>(layout.size().div_ceil(PAGE_BYTES));
        if before == usize::MAX || layout.align() > PAGE_BYTES {
            return core::ptr::null_mut();
        }
        core::ptr::without_provenance_mut(before * PAGE_BYTES)
    }

    unsafe fn dealloc(&self, _piece: *mut u8, _layout: Layout) {}
}

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    unreachable()
}
