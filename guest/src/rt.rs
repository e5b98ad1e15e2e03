//! What `std` would bring on wasm, without its imports: allocator, panic handler and the canonical ABI's
//! reallocation. The only hand-written unsafe code in the project.
#![allow(unsafe_code, reason = "the canonical ABI passes raw memory; there is no safe way to hand it over")]

use alloc::alloc::{alloc, realloc};
use core::alloc::Layout;
use core::ptr;

#[global_allocator]
static ALLOC: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

// `memcmp` and its kin: on wasip2 the compiler's builtins leave them to libc.
#[cfg(target_env = "p2")]
#[link(name = "c")]
unsafe extern "C" {}

/// Memory for what the host passes in. wit-bindgen leaves this symbol to libc on wasip2, whose allocator
/// would then own memory that ours frees.
///
/// # Safety
/// As the canonical ABI promises: `old` is null with `old_len` 0, or came from this function with that
/// length and alignment.
#[cfg(target_env = "p2")]
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_len: usize, align: usize, new_len: usize) -> *mut u8 {
    let Ok(new_layout) = Layout::from_size_align(new_len, align) else { core::arch::wasm32::unreachable() };
    if new_len == 0 {
        return ptr::without_provenance_mut(align);
    }
    let new = if old_len == 0 {
        // SAFETY: the size is not zero.
        unsafe { alloc(new_layout) }
    } else {
        let Ok(old_layout) = Layout::from_size_align(old_len, align) else { core::arch::wasm32::unreachable() };
        // SAFETY: `old` came from this allocator with this layout, and the new size is a legal one.
        unsafe { realloc(old, old_layout, new_len) }
    };
    if new.is_null() {
        core::arch::wasm32::unreachable()
    }
    new
}
