# Steps of scripts/test: commands that run in a lane or beside the lanes, and leave a log, an exit code and a time in $logs.
# Sourced by scripts/test; uses its $logs and counts in its $passed, $failed, $skipped and $broken.

log_of() { printf '%s/%s.txt\n' "$logs" "$(printf '%s' "$1" | tr -c 'A-Za-z0-9_.-' '-')"; }
# code_of NAME: the exit code of a step; 125 if it did not end.
code_of() { cat "$(log_of "$1").code" 2>/dev/null || echo 125; }
ended_well() { [ "$(code_of "$1")" = 0 ]; }
# step NAME COMMAND...: runs a command, then prints after which second of the whole it began, its times and its log. In a shell of its
# own, so that the processor time is that of the command alone and not also that of lanes which end meanwhile.
step() {
    local name=$1 log code=0 began=$SECONDS TIMEFORMAT='%0R s, of which the processor worked %0U + %0S s'
    log=$(log_of "$name")
    shift
    (time "$@" >"$log" 2>&1 </dev/null) 2>"$log.time" || code=$?
    {
        flock 9
        printf '\n== %s: after %d s, %s\n' "$name" "$began" "$(cat "$log.time")"
        cat "$log"
        [ $code = 0 ] || printf '== %s FAILED\n' "$name"
    } 9>"$logs/turn"
    printf '%d\n' $code >"$log.new"
    mv "$log.new" "$log.code"
}
# await NAME: waits until a step of the cargo lane, or the lane itself, has ended; succeeds if the step did.
await() {
    while [ ! -e "$(log_of "$1").code" ] && kill -0 "$cargo_lane" 2>/dev/null; do sleep 0.2; done
    ended_well "$1"
}
idle() { chrt --idle --pid 0 "$BASHPID" >/dev/null 2>&1 || renice -n 19 -p "$BASHPID" >/dev/null 2>&1 || true; }

skip() { # skip NAME WHY
    skipped=$((skipped + 1))
    printf '== %s skipped: %s\n' "$1" "$2"
}
fail() { # fail NAME
    failed=$((failed + 1))
    broken+=("$1")
}
count() { # count NAME: counts a step that is one check.
    if ended_well "$1"; then passed=$((passed + 1)); else fail "$1"; fi
}
# have_tool NAME COMMAND...: whether a tool is installed; in CI it must be.
have_tool() {
    local name=$1
    shift
    "$@" >/dev/null 2>&1 && return 0
    if [ -n "${CI-}" ]; then fail "$name (tool missing: $*)"; else skip "$name" "this machine lacks it ($*)"; fi
    return 1
}
