package hostile

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
)

// Probe tests how headers that mean harm are read, of all formats.
func Probe(t *testing.T) {
	for format := range seeds {
		for i, s := range Seeds(t, format) {
			for f := range both(format, truncated(s.Data)) {
				probed(t, s, f)
			}
			for f := range both(format, rotten(s.Data, uint64(i), tier.Cases(100, 500)/slowness)) {
				probed(t, s, f)
			}
			for f := range both(format, every(extreme(s.Data), tier.Cases(13, 3)*slowness)) {
				probed(t, s, f)
			}
		}
		for _, f := range bombs(t, format) {
			probed(t, File{Name: format}, f)
			if took := MemoryOf(t, func() { _ = misprobed(f.Data) }); took > 16<<20+2*int64(len(f.Data)) && !instrumented {
				t.Errorf("%s, %s: the header took %d MiB", format, f.Name, took>>20)
			}
		}
	}
}

func probed(t *testing.T, of, f File) {
	t.Helper()
	if bad := misprobed(f.Data); bad != "" {
		t.Errorf("%s, %s: %s", of.Name, f.Name, bad)
	}
}

// misprobed is what is wrong with how a header was read.
func misprobed(data []byte) string {
	before := bytes.Clone(data)
	var info media.Info
	var err error
	took := threadTime(func() { info, err = media.Probe(data) })
	switch n := kindsOf(err); {
	case err != nil && n != 1:
		return fmt.Sprintf("the error is of %d of media's kinds: %v", n, err)
	case !bytes.Equal(before, data):
		return "the source was written to"
	case took > patience(data, nil):
		return fmt.Sprintf("took %v", took)
	case err != nil:
		return ""
	case info.Width <= 0 || info.Height <= 0 || info.Width > media.MaxPixels/info.Height:
		return fmt.Sprintf("%d×%d pixels, and no error", info.Width, info.Height)
	case info.Orientation < 1, info.Orientation > 8, info.Components < 1, info.Bits < 1, seeds[info.Format] == nil:
		return fmt.Sprintf("%+v, and no error", info)
	case info.WorkingBytes() < int64(info.Width)*int64(info.Height):
		return fmt.Sprintf("%d bytes for %d×%d pixels", info.WorkingBytes(), info.Width, info.Height)
	}
	return ""
}
