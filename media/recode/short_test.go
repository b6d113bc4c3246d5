//go:build cgo

package recode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media/internal/avtest"
)

// FFmpeg knows a transport stream by a dozen packets, and takes shorter ones for program
// streams, in which AAC is MP2.
func TestShortTransportStreams(t *testing.T) {
	avtest.Library(t)
	for _, how := range []string{"a.ts -c:a aac", "a.m2ts -c:a aac -f mpegts -mpegts_m2ts_mode 1", "b.ts -c:a mp2", "c.ts -c:a ac3", "d.ts -c:a libopus"} {
		name, how, _ := strings.Cut(how, " ")
		for _, n := range []int{970, 100, 1846, 2331, 3500, 5000}[:tier.Cases(2, 6)] {
			if name == "a.m2ts" && n < 1846 { // FFmpeg does not find where packets begin
				n *= 30
			}
			args := fmt.Sprintf("-f lavfi -i aevalsrc=0.3*sin(440*2*PI*t)+0.2*random(0):s=48000:n=480 -af atrim=end_sample=%d ", n)
			path := avtest.Cached(t, fmt.Sprint(n, name), strings.Fields(args+how)...)
			file := content(t, opened(t, path))
			once, err := tryHear(file, false)
			flow, failed := tryFlow(opened(t, path))
			if err != nil || failed != nil || len(once) < n || !alike(once, flow) {
				t.Errorf("%d samples, %s: %d at once, %v, %d to the end, %v", n, how, len(once), err, len(flow), failed)
			}
		}
	}
}
