fn main() {
    hpmoe_build::kernels(["src/main.rs"]).build();
}
