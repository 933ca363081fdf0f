//! A fault of the library itself: the message of a panic goes to a function of the program's before the program ends.

use crate::*;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The function that holdoff_on_panic was given; null for none.
static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

extern_c! {
    /// Sets the function that is called when the library finds a fault in itself, which no input should ever lead to; NULL for
    /// none, as at the start. `message` says where and what ("core/src/time.rs:12: index out of bounds"), in memory that
    /// is gone when the function returns. Then the library calls abort, or stops for good where there is none. Log it, or reset
    /// the machine; do not call the library again. May be set at any time, by any thread, for the whole program.
    fn holdoff_on_panic(hook: Option<unsafe extern "C" fn(message: *const c_char)>) =
        HOOK.store(hook.map_or(core::ptr::null_mut(), |hook| hook as *mut ()), Ordering::Release);
}

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let hook = HOOK.load(Ordering::Acquire);
    if !hook.is_null() {
        let mut message = [0; 256];
        let place = info.location().map_or(("?", 0), |location| (location.file(), location.line()));
        fill(&mut message, &format_args!("{}:{}: {}", place.0, place.1, info.message()));
        // SAFETY: only holdoff_on_panic stores anything but null, and that is a function of this type.
        unsafe { core::mem::transmute::<*mut (), unsafe extern "C" fn(*const c_char)>(hook)(message.as_ptr()) }
    }
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(target_os = "none")]
    loop {
        core::hint::spin_loop();
    }
    #[cfg(not(any(target_arch = "wasm32", target_os = "none")))]
    {
        unsafe extern "C" {
            safe fn abort() -> !;
        }
        abort()
    }
}
