# Parts of a release, for scripts/release, which sources this and build.sh, and runs each part in a separate shell, with $out, $target
# and $version set. A part ends with the status $not_here if this machine lacks something for it, after a line that names it.

not_here=77

# need COMMAND...: requirements without which the part cannot be made here.
need() { "$@" || exit $not_here; }

# remark TEXT: what the notes say of a part that was made otherwise than it should be.
remark() { printf '%s\n' "$*" >>"$logs/remarks"; }

make_amd64() { make_packages amd64 x86_64; }
make_arm64() { make_packages arm64 aarch64; }
make_static() { make_tarball x86_64; }
make_static_arm64() { make_tarball aarch64; }
make_wheel() { make_wheel_of "$(uname -m)"; }
make_wheel_arm64() { make_wheel_of aarch64 --arm64; }

# make_packages ARCHITECTURE MACHINE: Debian packages, and a first run of their programs.
make_packages() {
    local triple=$2-unknown-linux-gnu
    need tool dpkg-deb dpkg
    # Without it evenair-web has no page.
    need tool npm npm
    need smoke_runner "$2"
    need ready_to_build "$triple"
    build_programs "$triple" evenair evenaird evenair-web evenair-lab
    EVENAIR_PROGRAMS=$target/$triple/release scripts/deb --architecture "$1" "$target/release-packages"
    smoke_test "$1" "$2"
    mv "$target"/release-packages/*_"$version"_"$1".deb "$out/"
    echo "$1: packages made, and their programs run ($(smoke_runner "$2"))"
}

# smoke_runner MACHINE: the command that runs such a machine's programs here: none, or qemu's user mode, linked statically or not.
smoke_runner() {
    if [ "$1" = "$(uname -m)" ]; then echo "this machine"; return; fi
    command -v "qemu-$1-static" || command -v "qemu-$1" || { echo "qemu-$1 is not there; install the package qemu-user-static" >&2; return 1; }
}

# smoke_test ARCHITECTURE MACHINE: programs of the packages check a configuration, simulate a scenario, and examine this machine.
smoke_test() {
    local work runner command=()
    work=$(mktemp -d)
    runner=$(smoke_runner "$2")
    if [ "$2" != "$(uname -m)" ]; then command=("$runner" -L "/usr/$2-linux-gnu"); fi
    for package in evenair evenair-web evenair-lab; do dpkg-deb -x "$target/release-packages/${package}_${version}_$1.deb" "$work"; done
    for program in evenair evenaird evenair-web evenair-lab; do
        "${command[@]}" "$work/usr/bin/$program" --version | grep -qF " $version+$EVENAIR_COMMIT" || { echo "$program is not $version of $EVENAIR_COMMIT" >&2; exit 1; }
    done
    "${command[@]}" "$work/usr/bin/evenair" config check "$work/usr/share/doc/evenair/box.toml"
    "${command[@]}" "$work/usr/bin/evenaird" --check --config "$work/usr/share/doc/evenair/box.toml"
    "${command[@]}" "$work/usr/bin/evenair-web" --json --where >"$work/where"
    grep -q '"page": *true' "$work/where" || { echo "evenair-web was built without its page" >&2; exit 1; }
    "${command[@]}" "$work/usr/bin/evenair-lab" sim run "$work/usr/share/evenair/scenarios/smoke.toml" --quiet --out "$work/results"
    # It examines this machine, which may well have problems: status 1.
    "${command[@]}" "$work/usr/bin/evenair" doctor --json >"$work/doctor" || [ $? = 1 ]
    grep -q kernel "$work/doctor"
    rm -rf "$work"
}

# make_tarball MACHINE: static programs with musl, or with glibc if Rust's standard library for musl is not available.
make_tarball() {
    local triple=$1-unknown-linux-musl programs=(evenair evenaird evenair-web)
    need tool npm npm
    if [ "$1" != "$(uname -m)" ]; then need tool "qemu-$1-static" qemu-user-static; fi
    if ready_to_build "$triple"; then
        build_programs "$triple" "${programs[@]}"
    else
        triple=$1-unknown-linux-gnu
        need ready_to_build "$triple"
        remark "static for $1: linked with glibc, since Rust's standard library for $1-unknown-linux-musl is not there"
        export CARGO_TARGET_DIR=$target/static
        static=yes build_programs "$triple" "${programs[@]}"
    fi
    scripts/tarball "$1" "${CARGO_TARGET_DIR:-$target}/$triple/release" "$out"
}

# make_wheel_of MACHINE [--arm64]: by scripts/python, with the flags of a release.
make_wheel_of() {
    local machine=$1
    shift
    need tool python3 python3-venv
    need scripts/python tools
    [ $# = 0 ] || need ready_to_build "$machine-unknown-linux-gnu"
    CARGO_ENCODED_RUSTFLAGS=$(encoded "${rust_flags[@]}") scripts/python wheel "$@" --check
    cp target/wheels/evenair-"$version"-*_"$machine".whl "$out/"
    echo "wheel for $machine: $(basename "$out"/*_"$machine".whl)"
}

# write_recipe: OpenWrt's recipe with version and checksums, for the tarballs that were made.
write_recipe() {
    local file=$out/evenair-$version-openwrt.mk machine sum
    cp packaging/openwrt/Makefile "$file"
    sed -i "s/@VERSION@/$version/" "$file"
    for machine in x86_64 aarch64; do
        sum=
        [ ! -e "$out/evenair-$version-linux-$machine-static.tar.gz" ] || sum=$(sha256sum "$out/evenair-$version-linux-$machine-static.tar.gz" | cut -d ' ' -f 1)
        sed -i "s/@HASH_${machine^^}@/$sum/" "$file"
    done
}
