#!/usr/bin/env bash
# What `make demo` runs: real data, three constructions, verified, audited, and one tampered target refuted.
set -euo pipefail
out=demo-output
mkdir -p "$out"
say() { printf '\n$ %s\n' "$*"; "$@"; }

echo "JapaneseVowels (UCI, CC BY 4.0): 30 utterances of 9 speakers, 12 dimensions, one target per speaker."
say interp dataset check bundled:japanese_vowels_30
say interp dataset convert bundled:japanese_vowels_30 "$out/vowels.json"

echo; echo "== Theorem 1.6: hardmax =="
say interp build "$out/vowels.json" -o "$out/hardmax.jsonl"
say interp verify "$out/hardmax.jsonl" "$out/vowels.json"
say interp audit "$out/hardmax.jsonl" "$out/vowels.json" --no-verify

echo; echo "== Theorem 1.8: softmax, every temperature in (0, 1] =="
say interp build "$out/vowels.json" -o "$out/softmax.jsonl" --attention softmax
say interp verify "$out/softmax.jsonl" "$out/vowels.json" --attention softmax

echo; echo "== Beyond the theorems: all 270 utterances, 1081 blocks by theorem 1.6, 6 here, every temperature =="
say interp build bundled:japanese_vowels -o "$out/labels.jsonl" --construction labels
say interp audit "$out/labels.jsonl" bundled:japanese_vowels --temperatures "[0,oo)" --max-blocks 6

echo; echo "== A wrong target must be refuted =="
sed 's/"output":\[\[1,/"output":[["1000001\/1000000",/' "$out/vowels.json" >"$out/tampered.json"
status=0
say interp verify "$out/hardmax.jsonl" "$out/tampered.json" || status=$?
if [ "$status" -ne 10 ]; then
    echo "expected exit code 10 (refuted), got $status" >&2
    exit 1
fi

cat <<'NEXT'

Done: built, verified, audited, and one false statement refuted (exit code 10).
Next:
  . .venv/bin/activate
  interp --help
  interp temperature demo-output/softmax.jsonl demo-output/vowels.json   # the largest certified temperature
  interp run demo-output/hardmax.jsonl demo-output/vowels.json --pair 0 --trace
  python -m proofs check demo-output/vowels.json demo-output/hardmax.jsonl   # the checker alone
The tutorial: docs/tutorial/first-transformer.md
Your own data: docs/reference/datasets.md; what "verified" means: docs/explanation/trusted-base.md
NEXT
