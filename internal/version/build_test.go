package version

import (
	"regexp"
	"runtime"
	"testing"

	"github.com/headrace/headrace/media"
)

func TestVersion(t *testing.T) {
	// Python's form of versions (PEP 440), which is also what comes after "v" in a tag.
	if !regexp.MustCompile(`^\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?$`).MatchString(Version) {
		t.Errorf("%q", Version)
	}
}

func TestHere(t *testing.T) {
	b := Here()
	if b.Version != Version || b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH || b.Commit == "" {
		t.Errorf("%+v", b)
	}
	// Of this test's packages, only media registers anything.
	if name := (media.GoJPEG{}).Name(); b.Features.Decoders[media.JPEG] != name || b.Features.Kernels != "" {
		t.Errorf("%+v, not %s", b.Features, name)
	}
	if b.Features.Encoders[media.JPEG] == "" {
		t.Errorf("%+v", b.Features)
	}
}

func TestCommit(t *testing.T) {
	defer func(before string) { commit = before }(commit)
	for _, c := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, "unknown"},
		{map[string]string{"vcs.revision": "10d46fe410d46fe410d46fe410d46fe410d46fe4"}, "10d46fe410d4"},
		{map[string]string{"vcs.revision": "10d46fe410d46fe4", "vcs.modified": "false"}, "10d46fe410d4"},
		{map[string]string{"vcs.revision": "10d46fe4", "vcs.modified": "true"}, "10d46fe4-dirty"},
	} {
		if got := commitOf(c.settings); got != c.want {
			t.Errorf("%v: %s, not %s", c.settings, got, c.want)
		}
	}
	commit = "said by the linker"
	if got := Here().Commit; got != commit {
		t.Errorf("%s", got)
	}
}
