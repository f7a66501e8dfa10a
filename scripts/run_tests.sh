#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_tests.sh BUILD [OPTION...]: called by make test. A test that fails is run once more, as beside
# others it may run out of time. What needed that is named at the end: it may fail every other time.
# So is what was left out, as passing tests are not shown: pytest's "SKIPPED [2] file:line: why", and
# "left out: why" of all others. Of a test that was run twice the second run counts.
build=$1
shift
log=$build/Testing/Temporary/LastTest.log
rm -f "$log"
# Else each of a hundred runs of pytest compiles what all of them share.
unset PYTHONDONTWRITEBYTECODE
# What whoever starts the tests has set for programs is nothing to them.
# shellcheck disable=SC2046 # names are words
unset $(env | sed -n 's/^\(SOBOR[A-Z_]*\)=.*/\1/p' | grep -v -e '^SOBOR_TEST_' -e '^SOBOR_PYTHON$')
ctest --test-dir "$build" --output-on-failure --no-tests=error --repeat until-pass:2 "$@"
status=$?

run_twice() {
    awk '/^[0-9]+\/[0-9]+ Testing: / { sub(/^[^:]*: /, ""); if (++runs[$0] == 2) print "  " $0 }' "$log"
}

# One line for each reason: parts, why, and the tests that they are of.
left_out() {
    awk '
    function count(parts, why) {
        why = substr(why, 1, 150)
        if (!((test, why) in times)) order[++pairs] = test SUBSEP why
        times[test, why] += parts
    }
    /^[0-9]+\/[0-9]+ Testing: / {
        sub(/^[^:]*: /, "")
        test = $0
        block++
        for (i = 1; i <= pairs; i++) {
            split(order[i], pair, SUBSEP)
            if (pair[1] == test) times[order[i]] = 0
        }
    }
    /^SKIPPED \[[0-9]+\] / {
        parts = substr($2, 2) + 0
        sub(/^SKIPPED \[[0-9]+\] [^:]*:([0-9]+:)? */, "")
        count(parts, $0)
    }
    /^\[ RUN      \]/ { said = 0 }
    /(^| )left out: / { said = 1; sub(/.*left out: /, ""); count(1, $0) }
    /^\[  SKIPPED \] [A-Za-z0-9_]+$/ && !seen[block, $4]++ && !said { count(1, $4) }
    END {
        for (i = 1; i <= pairs; i++) {
            split(order[i], pair, SUBSEP)
            why = pair[2]
            if (times[order[i]] == 0) continue
            all[why] += times[order[i]]
            if (++tests[why] <= 3) names[why] = names[why] (tests[why] > 1 ? ", " : "") pair[1]
        }
        for (why in all) {
            more = tests[why] > 3 ? " and " tests[why] - 3 " more" : ""
            printf "%5d  %s (%s%s)\n", all[why], why, names[why], more
        }
    }' "$log" | sort -k1,1nr -k2
    # What was not even made a test.
    sed -n 's/^-- \(.*left out.*\)/    -  \1/p' "$build/configure.log" 2>/dev/null
}

if [ -e "$log" ]; then
    again=$(run_twice)
    out=$(left_out)
    [ -z "$out" ] || printf '\nLeft out, the number of parts and why:\n%s\n' "$out"
    [ -z "$again" ] || printf '\nFailed, and were run once more:\n%s\n' "$again"
fi
exit $status
