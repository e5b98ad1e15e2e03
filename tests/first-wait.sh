#!/bin/sh
# The main job, tried from nothing: builds sondeo, starts a small job provider on loopback (not part of sondeo), and waits for
# a job there. Everything is kept in a temporary folder that is removed at the end; nothing else is touched.
set -eu
cd "$(dirname "$0")/.."
for tool in cargo python3; do
    command -v "$tool" >/dev/null || { echo "first-wait: \`$tool\` is missing; install it and run this again" >&2; exit 1; }
done

echo "+ cargo build --locked"
cargo build --locked
sondeo=${CARGO_TARGET_DIR:-target}/debug/sondeo

folder=$(mktemp -d)
provider=
cleanup() {
    [ -z "$provider" ] || kill "$provider" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

python3 tests/provider/provider.py --port-file "$folder/port" --log "$folder/requests.log" >/dev/null &
provider=$!
tries=0
while [ ! -s "$folder/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "first-wait: the provider did not start" >&2; exit 1; }
    sleep 0.1
done
sed "s/PORT/$(cat "$folder/port")/g" tests/provider/contract.json >"$folder/exports.json"

export SONDEO_STORE="$folder/jobs.db"
job=queued.ra503-2.running.done
echo "+ sondeo watch exports.json $job"
code=0
"$sondeo" watch "$folder/exports.json" "$job" || code=$?
echo "(exit code $code)"
echo "+ sondeo verify"
"$sondeo" verify
echo "the provider received $(wc -l <"$folder/requests.log" | tr -d ' ') requests"
exit "$code"
