#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_tests.sh BUILD [OPTION...]: called by make test. A test that fails is run once more, as beside
# others it may run out of time. What needed that is named at the end: it may fail every other time.
build=$1
shift
log=$build/Testing/Temporary/LastTest.log
rm -f "$log"
ctest --test-dir "$build" --output-on-failure --no-tests=error --repeat until-pass:2 "$@"
status=$?
again=
[ ! -e "$log" ] || again=$(awk '
    /^[0-9]+\/[0-9]+ Testing: / { sub(/^[^:]*: /, ""); if (++runs[$0] == 2) print "  " $0 }
' "$log")
[ -z "$again" ] || printf '\nFailed, and were run once more:\n%s\n' "$again"
exit $status
