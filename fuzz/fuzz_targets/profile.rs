#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| companion_memory_fuzz::profile(data));
