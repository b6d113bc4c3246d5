package shard

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// Braces mean what they mean to bash.
func TestBraces(t *testing.T) {
	tier.StartsProcesses(t)
	patterns := []string{
		"a", "a-{000..012}.tar", "{a,b}-{1..3}", "x{5..1}", "{1..9..3}", "{9..1..4}", "{a..e}", "{c..a}", "{a,{b,c}d,e{1,2}}", "{}", "{a}", "a{b", "a}b", "{a,b}{", "{1..x}",
		"{-2..2}", "{01..3}", "{8..11}", "{08..11}", "x{,y}", "{1..2}{a,b}{3..4}", "{{1..3},7}", "{1...3}", "{00..001}",
	}
	for _, p := range patterns {
		out, err := exec.Command("bash", "-c", "printf '%s\\n' "+p).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if got, err := expand(p); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q: %v", p, got, want, err)
		}
	}
	if _, err := expand("{0..9999}{0..9999}"); err == nil {
		t.Error("a hundred million names")
	}
}
