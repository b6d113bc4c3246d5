package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/pipe"

	"pgregory.net/rapid"
)

func TestProfile(t *testing.T) {
	folder := photographs(t, "loader: {epochs: 3, workers: 7, prefetch: 4}")
	got := invoke(t, folder, "profile", "r.yaml", "--items", "8", "--workers", "1,2")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"is the bottleneck: at best ", " samples/s", "stage ", "files ", "read ", "decode_image+"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.stdout)
		}
	}
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "measuring files") && !strings.HasPrefix(lines[2], "measuring decode_image") {
		t.Errorf("%q", lines)
	}
	got = invoke(t, folder, "profile", "r.yaml", "--workers", "2", "--json", "--fuse=false", "--epoch", "5")
	var doc profileDocument
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if doc.File != "r.yaml" || doc.Items != 20 || len(doc.Stages) != 5 || doc.Stages[4].Trials[0].Workers != 2 || doc.Cores < 1 || !strings.Contains(doc.Text, doc.Stages[2].Name) || doc.Verdict == "" {
		t.Errorf("%+v", doc)
	}
}

func TestProfileIsUsedWrongly(t *testing.T) {
	folder := photographs(t, "")
	for want, args := range map[string][]string{
		"headrace: --items is 0: must be at least 1":                         {"--items", "0"},
		"headrace: configuration does not fit: workers has 0":                {"--workers", "0"},
		"headrace: configuration does not fit: the numbers of workers [1 1]": {"--workers", "1,1"},
		"headrace: configuration does not fit: epoch is -1":                  {"--epoch", "-1"},
		"headrace: configuration does not fit: memory is 977 KiB, which has": {"--memory", "1000000"},
		"unknown flag: --prefetch":                                           {"--prefetch", "2"},
		`invalid argument "one" for "--workers"`:                             {"--workers", "one"},
	} {
		got := invoke(t, folder, append([]string{"profile", "r.yaml"}, args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%q: wanted %q, got %+v", args, want, got)
		}
	}
	if got := invoke(t, folder, "profile", "r.yaml", "--set", "size=x"); got.code != exitUsage || !strings.HasPrefix(got.stderr, "r.yaml:") {
		t.Errorf("%+v", got)
	}
}

// The bar fits, whatever there is to tell, and grows.
func TestProfileBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 200).Draw(t, "width")
		trials := rapid.IntRange(1, 50).Draw(t, "trials")
		now := pipe.ProfileProgress{
			Stage: rapid.StringN(1, 60, 120).Draw(t, "stage"), Workers: rapid.IntRange(0, 256).Draw(t, "workers"),
			Trial: rapid.IntRange(0, trials-1).Draw(t, "trial"), Trials: trials,
		}
		since := time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "since"))
		if bar := profileBar(now, since, width, false); utf8.RuneCountInString(bar) > width {
			t.Errorf("%d characters: %q", utf8.RuneCountInString(bar), bar)
		}
	})
	if bar := profileBar(pipe.ProfileProgress{Stage: "read", Workers: 2, Trial: 3, Trials: 6}, 3*time.Second, 80, true); bar != green+"━━━━━━━━━━━━"+plain+"────────────  read, 2 workers  0:03 left" {
		t.Errorf("%q", bar)
	}
}
