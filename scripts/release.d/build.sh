# Programs of a release, for scripts/release, which sources this and has set $release_commit, $release_time and $target: the same
# sources and compiler give the same bytes in any folder.

# tool NAME PACKAGE: whether the program is installed; otherwise prints the package that has it.
tool() { command -v "$1" >/dev/null || { echo "$1 is not there; install the package $2" >&2; return 1; }; }

# release_environment: replaces paths of this machine by names that are the same everywhere.
release_environment() {
    local sysroot commit map maps_for_c=()
    # Settings of a user or of continuous integration for other kinds of builds.
    unset CI RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS "${!CARGO_PROFILE_@}" "${!CFLAGS@}"
    export EVENAIR_COMMIT=$release_commit SOURCE_DATE_EPOCH=$release_time CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0
    sysroot=$(rustc --print sysroot)
    commit=$(rustc -vV | sed -n 's/^commit-hash: //p')
    rust_flags=()
    # The last one that matches a path applies. If the sources of the standard library are installed, they get the names that they have
    # otherwise.
    for map in "$sysroot/lib/rustlib/src/rust=/rustc/$commit" "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$PWD=/evenair" "$target=/evenair/target"; do
        rust_flags+=("--remap-path-prefix=$map")
        maps_for_c+=("-ffile-prefix-map=$map")
    done
    export CFLAGS="${maps_for_c[*]}"
}

# has_standard_library TRIPLE: for that kind of machine; rustup fetches it if it is missing.
has_standard_library() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || rustup target add "$1" ||
        { echo "Rust's standard library for $1 is not there; where rustup is: rustup target add $1" >&2; return 1; }
}

# ready_to_build TRIPLE: whether compiler and standard library for it are installed. The standard library of musl contains the C
# library and its start-up files; the little C code works with the headers of either library.
ready_to_build() {
    local machine=${1%%-*} variable=${1//-/_} compiler
    compiler=$machine-linux-gnu-gcc
    tool "$compiler" "gcc-${machine/_/-}-linux-gnu" && has_standard_library "$1" || return 1
    export "CARGO_TARGET_${variable^^}_LINKER=$compiler"
    if [ "$1" = "$(uname -m)-unknown-linux-musl" ] && command -v musl-gcc >/dev/null; then compiler=musl-gcc; fi
    export "CC_$variable=$compiler"
    # With glibc's headers SQLite would call open64 and the like, which musl does not have; offsets have 64 bits anyway.
    case $1$compiler in *-musl*-gnu-gcc) export LIBSQLITE3_FLAGS=-DSQLITE_DISABLE_LFS ;; esac
}

encoded() { (IFS=$'\x1f' && printf %s "$*"); }

# Crates of the packet path, which are optimised for speed while everything else is optimised for size.
fast_crates=(live manager packet sched sys units wifi)

# small_options: options of cargo for programs of small routers, one argument per line.
small_options() {
    printf '%s\n' --config 'profile.release.opt-level="z"'
    printf -- '--config\nprofile.release.package.evenair-%s.opt-level=3\n' "${fast_crates[@]}"
}

# build_programs TRIPLE PROGRAM...: optimised, in $CARGO_TARGET_DIR/TRIPLE/release, after ready_to_build. Programs for musl are static;
# others are if $static is set. Static ones are small.
build_programs() {
    local triple=$1 program flags=("${rust_flags[@]}") packages=() options=()
    shift
    for program in "$@"; do packages+=(-p "$program"); done
    case ${static-}$triple in
        yes* | *-musl)
            flags+=("-Ctarget-feature=+crt-static")
            mapfile -t options < <(small_options)
            ;;
    esac
    CARGO_ENCODED_RUSTFLAGS=$(encoded "${flags[@]}") scripts/cargo build "${options[@]}" --release --locked --target "$triple" "${packages[@]}"
}
