//! Components that decide as the real one, but for one thing (`tests/guests/hostile`).

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

#[allow(dead_code, reason = "the build script and the test of reproducibility use the rest")]
#[path = "../../host/build/nested.rs"]
mod nested;

/// Stands once in the component's bytes, followed by the variant's name and dots.
const MARK: &[u8] = b"sondeo-hostile-variant:";
/// Bytes for the name and its dots.
const NAME_BYTES: usize = 25;

/// The component that does `variant`, and is the real one in all else:
/// `spin`, `grow`, `recurse` and `trap` never come back from a step; `sleep7` sleeps 7 s after whatever answer; `escalate`
/// ends the wait at its first request; `poll_after_deadline` and `over_budget` send all the same; `floor_third` draws its
/// jitter from a third of the backoff; `none` decides as the real one.
///
/// Built once for all of them; cargo's own lock makes other test processes wait for it.
pub(crate) fn build(variant: &str) -> Vec<u8> {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    let mut bytes = BUILT.get_or_init(built).clone();
    let places: Vec<usize> =
        bytes.windows(MARK.len()).enumerate().filter(|(_, w)| *w == MARK).map(|(i, _)| i).collect();
    let [place] = places.as_slice() else {
        panic!("the mark stands {} times in the component", places.len());
    };
    assert!(variant.len() <= NAME_BYTES, "`{variant}` is too long a name");
    let start = place + MARK.len();
    bytes[start..start + NAME_BYTES].copy_from_slice(format!("{variant:.<NAME_BYTES$}").as_bytes());
    bytes
}

fn built() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    // Nobody runs it in earnest: quick to build matters more than small.
    let output = nested::build(&cargo, &rustc, root, &target_dir, "sondeo-hostile")
        .env("CARGO_PROFILE_COMPONENT_LTO", "off")
        .env("CARGO_PROFILE_COMPONENT_CODEGEN_UNITS", "4")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(target_dir.join(nested::TARGET).join("component").join("sondeo_hostile.wasm")).unwrap()
}
