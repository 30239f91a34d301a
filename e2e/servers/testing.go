package servers

import (
	"os"
	"testing"
)

// Full reports whether the full tier of the e2e tests was asked for, E2E_TIER=full;
// else tests keep to sizes that a submission can wait for.
func Full() bool { return os.Getenv("E2E_TIER") == "full" }

// Require skips a test that installs and starts servers, unless e2e/run.sh runs
// it, where a skip counts as a failure.
func Require(t testing.TB) {
	t.Helper()
	if os.Getenv("FRESHET_E2E") == "" {
		t.Skip("needs servers that e2e/run.sh installs and starts: bash e2e/run.sh, or set FRESHET_E2E=1")
	}
}
