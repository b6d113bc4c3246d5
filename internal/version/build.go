package version

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
)

// Build is what one program was built from, and what for.
type Build struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit"` // ends in "-dirty" where files were changed since; "unknown" where nobody knew
	Go       string   `json:"go"`
	Platform string   `json:"platform"` // as in "linux/amd64"
	Features Features `json:"features"`
}

// Features are what is linked into a program.
type Features struct {
	Cgo      bool              `json:"cgo"`      // C was allowed
	Debug    bool              `json:"debug"`    // with the memory checks of debug builds
	Kernels  string            `json:"kernels"`  // which instructions work on pixels here, as in "avx2"; "": those of plain Go
	Decoders map[string]string `json:"decoders"` // by format
	Encoders map[string]string `json:"encoders"` // by format
}

// Here describes the program that runs.
func Here() Build {
	b := Build{Version: Version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	settings := settings()
	if b.Commit == "" {
		b.Commit = commitOf(settings)
	}
	b.Features.Cgo = settings["CGO_ENABLED"] == "1"
	b.Features.Debug = slices.Contains(strings.Split(settings["-tags"], ","), "headrace_debug")
	b.Features.Decoders = map[string]string{}
	b.Features.Encoders = map[string]string{}
	for _, format := range media.Formats() {
		if d, err := media.DecoderFor(format); err == nil {
			b.Features.Decoders[format] = d.Name()
			if k, ok := d.(interface{ Kernels() string }); ok {
				b.Features.Kernels = k.Kernels()
			}
		}
		if e, err := media.EncoderFor(format); err == nil {
			b.Features.Encoders[format] = e.Name()
		}
	}
	return b
}

// commit is set by the scripts that build releases: -ldflags "-X
// github.com/headrace/headrace/internal/version.commit=…". Go itself asks git only in a
// checkout that belongs to who builds.
var commit string

func commitOf(settings map[string]string) string {
	c := settings["vcs.revision"]
	if c == "" {
		return "unknown"
	}
	c = c[:min(len(c), 12)]
	if settings["vcs.modified"] == "true" {
		c += "-dirty"
	}
	return c
}

// settings are those that the Go command built this program with.
func settings() map[string]string {
	of := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			of[s.Key] = s.Value
		}
	}
	return of
}
