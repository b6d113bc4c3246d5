package steady

import (
	"testing"
	"testing/synctest"
	"time"
)

// A host that asks for an hour gets what the longest pause is, and shorter ones count
// after it, also where the clock was set back since.
func TestPausesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace("host")
		p.pause(time.Hour)
		if got := p.paused(); got != longestAsked {
			t.Errorf("after an hour was asked for it pauses for %v", got)
		}
		time.Sleep(longestAsked)
		if got := p.paused(); got > 0 {
			t.Errorf("after the longest pause it pauses for another %v", got)
		}

		p.page.Common(pausedTo).Store(time.Now().Add(time.Hour).UnixNano()) // said by a clock that was ahead
		p.pause(5 * time.Second)
		if got := p.paused(); got != 5*time.Second {
			t.Errorf("a pause of 5 s is one of %v", got)
		}
	})
}
