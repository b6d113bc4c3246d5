package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/words"
)

// display shows people how far a run is: newBar on a terminal, newLines where what is
// written is kept.
type display struct {
	w        io.Writer
	every    time.Duration
	draw     func(progress, *speed) string // what is shown every so often
	clear    string                        // removes what was drawn
	losses   int64                         // told one by one
	mu       sync.Mutex
	now      progress // guarded by mu, as is what follows
	speed    speed
	stop     chan struct{}
	finished sync.WaitGroup
}

// maxLosses are reported one by one. Who needs all uses --json.
const maxLosses = 10

// newLines writes a line every ten seconds, and one for each epoch.
func newLines(w io.Writer) *display {
	return &display{w: w, every: 10 * time.Second, draw: func(p progress, s *speed) string {
		return progressText(p, s) + "\n"
	}}
}

// newBar draws over the line that it drew before.
func newBar(f *os.File) *display {
	colour := colours(f)
	const clear = "\r\x1b[K"
	return &display{w: f, every: time.Second / 10, clear: clear, draw: func(p progress, s *speed) string {
		return clear + bar(p, s, terminalWidth(f)-1, colour)
	}}
}

func (d *display) start(s start) {
	d.now = s.now
	d.speed.see(time.Now(), 0)
	if s.out != nil {
		if _, done := s.out.Complete(); done {
			d.line("all has been written already; --overwrite begins again")
		} else if n := s.out.Saved(); n > 0 {
			d.line(fmt.Sprintf("going on after %s that were written before", words.Plural(n, "sample")))
		}
	}
	d.stop = make(chan struct{})
	d.finished.Go(d.run)
}

// run draws until the end.
func (d *display) run() {
	ticks := time.NewTicker(d.every)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			d.mu.Lock()
			d.speed.see(time.Now(), d.now.total)
			io.WriteString(d.w, d.draw(d.now, &d.speed))
			d.mu.Unlock()
		case <-d.stop:
			return
		}
	}
}

// line writes one that stays.
func (d *display) line(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintln(d.w, d.clear+text)
}

// Write writes lines that stay.
func (d *display) Write(lines []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	io.WriteString(d.w, d.clear)
	return d.w.Write(lines)
}

func (d *display) batch(p progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = p
}

func (d *display) lost(l headrace.Lost, p progress) {
	d.batch(p)
	d.losses++
	became := "lost"
	if l.Replaced {
		became = "replaced"
	}
	switch {
	case d.losses <= maxLosses:
		d.line(fmt.Sprintf("%s in %s: %v", became, l.Stage, l.Err))
	case d.losses == maxLosses+1:
		d.line("more are " + became + ", and only counted from here on; --json names each")
	}
}

func (d *display) epoch(s headrace.EpochSummary, p progress) {
	took := time.Since(p.epochBegun)
	text := fmt.Sprintf("epoch %d of %d: %s in %s", s.Epoch+1, p.epochs, words.Plural(s.Samples, "sample"), seconds(took))
	if here := s.Samples - p.before; here > 0 {
		text += fmt.Sprintf(", %s samples/s", perSecond(here, took))
	}
	if s.Lost > 0 {
		text += fmt.Sprintf(", %s lost", words.Thousands(s.Lost))
	}
	if s.Replaced > 0 {
		text += fmt.Sprintf(", %s replaced", words.Thousands(s.Replaced))
	}
	d.line(text)
}

func (d *display) warn(_, message string) { d.line("headrace: warning: " + message) }

func (d *display) end(ending) error {
	close(d.stop)
	d.finished.Wait()
	_, err := io.WriteString(d.w, d.clear)
	return err
}

// progressText is a line of where the run is.
func progressText(p progress, s *speed) string {
	text := fmt.Sprintf("epoch %d of %d: %d %%, %s of %s", p.epoch+1, p.epochs, percentDone(p),
		words.Thousands(p.samples), words.Plural(p.perEpoch, "sample"))
	if p.perEpoch < 0 { // nobody knows how many there are
		text = fmt.Sprintf("epoch %d of %d: %s", p.epoch+1, p.epochs, words.Plural(p.samples, "sample"))
	}
	for _, part := range speedTexts(p, s) {
		text += ", " + part
	}
	return text
}

// speedTexts are those of losses, speed and time that there is something to say about,
// in the order in which people want to know.
func speedTexts(p progress, s *speed) (parts []string) {
	if p.totalLost > 0 {
		parts = append(parts, words.Thousands(p.totalLost)+" lost")
	}
	if p.replaced > 0 {
		parts = append(parts, words.Thousands(p.replaced)+" replaced")
	}
	if s.rate > 0 {
		parts = append(parts, rateText(s.rate)+" samples/s")
	}
	if left, ok := s.left(p.left()); ok && p.perEpoch >= 0 {
		parts = append(parts, clock(left)+" left")
	}
	return parts
}

func percentDone(p progress) int64 {
	if p.perEpoch <= 0 {
		return 0
	}
	return min(100, 100*(p.samples+p.lost)/p.perEpoch)
}

// plain ends a colour of terminals.
const plain = "\x1b[0m"

// drawnBar is a bar of so many characters, of which so many mean what is done.
func drawnBar(full, size int, colour bool) string {
	return painted(colour, "32", strings.Repeat("━", full)) + strings.Repeat("─", size-full)
}

// bar draws a line of at most so many characters. What matters least goes first where
// there is no room.
func bar(p progress, s *speed, width int, colour bool) string {
	const least, most = 8, 40 // characters of the bar itself
	if p.perEpoch < 0 {
		return cutText(progressText(p, s), width)
	}

	head := fmt.Sprintf("epoch %d/%d  ", p.epoch+1, p.epochs)
	tail := fmt.Sprintf("  %3d %%", percentDone(p))
	parts := append(speedTexts(p, s), fmt.Sprintf("%s/%s", words.Thousands(p.samples), words.Thousands(p.perEpoch)))
	for _, part := range parts {
		if longer := tail + "  " + part; len(head)+len(longer)+least <= width {
			tail = longer
		}
	}

	size := min(most, width-len(head)-len(tail))
	if size < least {
		return cutText(head+strings.TrimSpace(tail), width)
	}

	if p.totalLost > 0 {
		lost := words.Thousands(p.totalLost) + " lost"
		tail = strings.Replace(tail, lost, painted(colour, "31", lost), 1)
	}
	return head + drawnBar(int(int64(size)*percentDone(p)/100), size, colour) + tail
}

func cutText(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:max(0, width)])
	}
	return text
}

// warnings shows nothing else.
type warnings struct{ w io.Writer }

func (warnings) start(start)                           {}
func (warnings) batch(progress)                        {}
func (warnings) lost(headrace.Lost, progress)          {}
func (warnings) epoch(headrace.EpochSummary, progress) {}
func (warnings) end(ending) error                      { return nil }
func (q warnings) warn(_, message string)              { fmt.Fprintln(q.w, "headrace: warning: "+message) }
