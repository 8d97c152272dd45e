# Notes of a release, for scripts/release, which sources this.

# check_versions: checks that the version is the same everywhere, and has an entry in the changelog.
check_versions() {
    local file found
    grep -q "^## \[$version\]" CHANGELOG.md || die "CHANGELOG.md has no entry '## [$version]', which has to say what users get"
    [ -n "$(changelog_entry)" ] || die "the entry '## [$version]' of CHANGELOG.md is empty"
    for file in CITATION.cff page/package.json packaging/grafana/package.json; do
        found=$(sed -n 's/^ *"\{0,1\}version"\{0,1\}: *"\{0,1\}\([^",]*\).*/\1/p' "$file" | head -n 1)
        [ "$found" = "$version" ] || die "$file has version $found, Cargo.toml has $version"
    done
}

# changelog_entry: the entry of this version, without its heading.
changelog_entry() { awk -v heading="## [$version]" 'index($0, "## [") == 1 { on = index($0, heading) == 1; next } on' CHANGELOG.md | sed '/./,$!d'; }

# what_is FILE: description of a file of the release.
what_is() {
    case $1 in
        evenair_*.deb) echo "the box: daemon and operators' commands" ;;
        evenair-web_*.deb) echo "page of the box, for a browser" ;;
        evenair-lab_*.deb) echo "simulator and testbed, with scenarios" ;;
        *-static.tar.gz) echo "the box and its page for small routers, linked statically, with services of OpenWrt" ;;
        *-openwrt.mk) echo "recipe of OpenWrt packages, made of the tarballs" ;;
        *.whl) echo "Python package, for Python 3.10 on" ;;
        *.cdx.json) echo "software bill of materials, CycloneDX 1.6" ;;
        SHA256SUMS) echo "checksums: sha256sum --check SHA256SUMS" ;;
        *) die "nobody knows what $1 is" ;;
    esac
}

write_notes() {
    local file line
    printf '# Evenair %s\n\n' "$version"
    printf 'Built from commit %s by %s.\n' "$release_commit" "$(rustc --version)"
    case $release_commit in *.dirty) printf '\n**Sources were changed after the commit: this is no release.**\n' ;; esac
    grep -q "^## \[$version\] - ....-..-..$" CHANGELOG.md || printf '\n**The entry of the changelog has no date yet.**\n'
    printf '\n| file | bytes | what it is |\n|---|---|---|\n'
    for file in "$out"/*; do
        [ "$file" = "$out/RELEASE-NOTES.md" ] || printf '| %s | %s | %s |\n' "${file##*/}" "$(stat -c %s "$file")" "$(what_is "${file##*/}")"
    done
    printf '\n## Left out, and not tried\n\n'
    for line in ${absent[@]+"${absent[@]}"}; do printf -- '- %s\n' "$line"; done
    sed 's/^/- /' "$logs/remarks"
    for line in "${all[@]}"; do [[ " ${parts[*]} " == *" $line "* ]] || printf -- '- %s: not asked for\n' "$line"; done
    # Built from the packages if there is a container engine, which may need the network.
    printf -- '- container images: their definitions are in packaging/container, and are not built here\n'
    printf -- '- the tarballs have run in an empty root directory, and never on a router\n'
    printf '\n## Changes\n\n'
    changelog_entry
}
