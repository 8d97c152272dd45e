# Test programs of scripts/test: how they are built, run, repeated and counted. Sourced by scripts/test, after steps.sh; uses its
# $real_time, $waiting, $logs, $as_root, $repeats, $wifi and has, and counts as steps.sh does, and in $unsteady.

# build NAME CARGO-ARGUMENT...: builds tests, without root and outside of any namespace, which has no network. Lists the programs in
# $logs/NAME.list, as scripts/test-programs does.
build() {
    local name=$1
    shift
    scripts/cargo test --workspace --locked --no-run --quiet --message-format=json-render-diagnostics "$@" >"$logs/$name.json" \
        && scripts/test-programs "$logs/$name.json" >"$logs/$name.list"
}
build_tests() { # build_tests LIST NAME...: of these sources only
    local list=$1 name options=()
    shift
    for name in "$@"; do options+=(--test "$name"); done
    build "$list" "${options[@]}"
}
# The agent of the testbed's hosts is an example, and its box the daemon: `cargo test --test` builds neither. The example makes cargo
# choose the features of dependencies as it does for tests; without it crates would be built twice.
build_programs() { # build_programs CARGO-ARGUMENT...
    scripts/cargo build --workspace --locked --quiet --bin evenaird --example testbed "$@"
}
build_lab() { build_programs --bin evenair-lab --message-format=json-render-diagnostics >"$logs/lab.json"; }
# The program that build_lab built, with the daemon beside it.
lab() { sed -n 's/.*"kind":\["bin"\].*"name":"evenair-lab",.*"test":false},"features":.*"executable":"\([^"]*\)".*/\1/p' "$logs/lab.json"; }

waits() { case " ${waiting[*]} " in *" $1 "*) ;; *) return 1 ;; esac }
is_real_time() { case " ${real_time[*]} " in *" $1 "*) ;; *) return 1 ;; esac }
# run FOLDER PROGRAM ARGUMENT...: as cargo would. Bash has its background jobs ignore the terminal's signals; tests expect
# them to be as they usually are.
run() {
    local folder=$1
    shift
    "${as_root[@]}" env --default-signal=INT,QUIT --chdir="$folder" CARGO_MANIFEST_DIR="$folder" "$@" </dev/null
}
tell_and_run() { # tell_and_run FOLDER SOURCE PROGRAM ARGUMENT...
    printf '     Running %s (%s)\n' "$2" "${3#"$PWD"/}"
    run "$1" "${@:3}" --show-output
}
step_of() { printf 'tests %s %s\n' "$(basename "$1")" "$2"; } # step_of FOLDER NAME
# run_program NAME FOLDER SOURCE PROGRAM: one line of a list.
run_program() {
    local threads=()
    # Labs of these take turns among themselves, and those that mostly wait have one together.
    case $1 in inline*) threads=(--test-threads=4) ;; esac
    step "$(step_of "$2" "$1")" tell_and_run "$2" "$3" "$4" ${threads[@]+"${threads[@]}"}
}
run_real_time() { # run_real_time LIST NAME: a test program in wall-clock time
    local name folder source program
    while IFS=$'\t' read -r name folder source program; do
        [ "$name" = "$2" ] || continue
        printf '== %s begins\n' "$(step_of "$folder" "$name")"
        run_program "$name" "$folder" "$source" "$program"
    done <"$1"
}
run_virtual() { # run_virtual LIST: all test programs but those in wall-clock time and those that wait
    local name folder source program
    while IFS=$'\t' read -r name folder source program; do
        is_real_time "$name" || waits "$name" || run_program "$name" "$folder" "$source" "$program"
    done <"$1"
}
run_waiting() { # run_waiting LIST: those that wait
    local name folder source program
    while IFS=$'\t' read -r name folder source program; do
        ! waits "$name" || run_program "$name" "$folder" "$source" "$program"
    done <"$1"
}

# programs: lines of the lists of all programs that should run.
programs() {
    local name rest
    if has wallclock; then
        cat "$logs/first.list" "$logs/next.list" | while IFS=$'\t' read -r name rest; do
            if is_real_time "$name"; then printf '%s\t%s\n' "$name" "$rest"; fi
        done
    fi
    if has virtual; then
        while IFS=$'\t' read -r name rest; do
            is_real_time "$name" || printf '%s\t%s\n' "$name" "$rest"
        done <"$logs/all.list"
    fi
}
# count_programs: counts the tests of these programs and those in documentation.
count_programs() {
    local name folder rest program ok bad ignored absent absent_tests steps=()
    while IFS=$'\t' read -r name folder rest; do steps+=("$(step_of "$folder" "$name")"); done < <(programs)
    if has virtual; then steps+=("tests in documentation"); fi
    [ ${#steps[@]} -gt 0 ] || return 0
    : >target/test-log.txt
    for name in "${steps[@]}"; do
        cat "$(log_of "$name")" >>target/test-log.txt
        # A failed program lists its tests; one that died or did not run does not.
        grep -q "^test result: $(if ended_well "$name"; then echo ok; else echo FAILED; fi)\\." "$(log_of "$name")" \
            || fail "$name (it did not end as tests do)"
    done
    # A passing test that printed "skipped: " (once or more) did not test anything.
    absent_tests=$(awk '
        /^---- .* stdout ----$/ { name = $0; sub(/^---- /, "", name); sub(/ stdout ----$/, "", name) }
        /^skipped: / && name != "" { print name " (" $0 ")"; name = "" }' target/test-log.txt)
    absent=$(printf '%s' "$absent_tests" | grep -c '')
    read -r ok bad ignored < <(awk '
        /^test result:/ {
            for (i = 2; i <= NF; i++) {
                if ($i == "passed;") ok += $(i - 1)
                if ($i == "failed;") bad += $(i - 1)
                if ($i == "ignored;") ignored += $(i - 1)
            }
        }
        END { print ok + 0, bad + 0, ignored + 0 }' target/test-log.txt)
    [ "$bad" = 0 ] || repeat_late
    passed=$((passed + ok - absent))
    failed=$((failed + bad))
    skipped=$((skipped + ignored))
    if [ -z "${CI-}" ]; then
        skipped=$((skipped + absent))
    elif [ "$absent" -gt 0 ]; then
        failed=$((failed + absent))
        while read -r name; do broken+=("$name"); done <<<"$absent_tests"
    fi
    if [ "$bad" -gt 0 ]; then
        broken+=("$bad of the tests, of these:")
        while read -r program name; do broken+=("  $name of $program"); done < <(scripts/failed-tests target/test-log.txt)
    fi
}

# record_repeat PROGRAM TEST RESULT SECONDS: adds a line to $logs/repeats.tsv, which has one for each repeat of a run.
record_repeat() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$logs/repeats.tsv"; }

# repeat_late: runs the failed tests of target/test-log.txt again, if they are few and all of them depend on the time that they get.
# Counts in $bad and $ok, and adds to $unsteady. What is said goes to a log of its own: the first is counted later, too.
repeat_late() {
    local late program name folder file result begun
    late=$(scripts/failed-tests target/test-log.txt)
    [ "$(printf '%s\n' "$late" | grep -c .)" = "$bad" ] && [ "$bad" -le "$repeats" ] || return 0
    while read -r program name; do is_real_time "$program" || waits "$program" || return 0; done <<<"$late"
    while read -r program name; do
        printf '\n== once more: %s of %s\n' "$name" "$program"
        IFS=$'\t' read -r folder file < <(awk -F '\t' -v OFS='\t' -v name="$program" '$1 == name { print $2, $4 }' < <(programs))
        begun=$SECONDS
        result=failed
        run "$folder" "$file" --show-output --exact "$name" >target/test-again.txt 2>&1
        # Checks not only the exit code, but that this one test ran and passed.
        if grep -q '^test result: ok\. 1 passed; 0 failed' target/test-again.txt && ! grep -q -e '^test result: FAILED' -e '^skipped: ' target/test-again.txt; then
            result=passed
            unsteady+=("$name of $program")
            bad=$((bad - 1))
            ok=$((ok + 1))
        else
            cat target/test-again.txt
        fi
        record_repeat "$program" "$name" $result $((SECONDS - begun))
    done <<<"$late"
}

# The box beside a real Wi-Fi stack, in a virtual machine made of packages. If these are not available, nothing to be checked is
# broken: the test is skipped with a message, in CI, too.
wifi_test() {
    local folder program
    IFS=$'\t' read -r folder program < <(awk -F '\t' -v OFS='\t' '$1 == "wifi" && $2 ~ /\/evenair$/ { print $2, $4 }' "$logs/next.list")
    scripts/as-root env --chdir="$folder" "$program" --ignored
}
count_wifi() {
    local begun=$SECONDS
    case $wifi$(code_of "Wi-Fi stack, its machine") in
        0)
            if ! ended_well "Wi-Fi stack" && ended_well "building the next tests" && [ ${#unsteady[@]} -lt "$repeats" ]; then
                step "Wi-Fi stack" wifi_test
                record_repeat wifi "Wi-Fi stack" "$(if ended_well "Wi-Fi stack"; then echo passed; else echo failed; fi)" $((SECONDS - begun))
                ! ended_well "Wi-Fi stack" || unsteady+=("Wi-Fi stack")
            fi
            count "Wi-Fi stack"
            ;;
        77) skip "Wi-Fi stack" "$(sed -n 's/.*skipped: //p' "$(log_of "Wi-Fi stack, its machine")")" ;;
        *)
            if [ -n "$wifi" ]; then skip "Wi-Fi stack" "$wifi"; else fail "Wi-Fi stack (scripts/wifi-vm)"; fi
            ;;
    esac
}
