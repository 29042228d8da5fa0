//! A user's build script.

mod layers;

fn main() {
    let kernels =
        ["kernels/ffn.rs", "kernels/echo.rs", "kernels/coarse.rs", "kernels/deep.rs"].map(std::path::PathBuf::from);
    hpmoe_build::kernels(kernels.into_iter().chain(layers::write())).build();
}
