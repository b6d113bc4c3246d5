package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/words"
)

// feed is the flag --feed: so many consumers, each of so many samples a second.
type feed struct {
	consumers int
	rate      float64
}

// String, Set and Type implement pflag.Value.
func (f *feed) String() string {
	switch f.consumers {
	case 0:
		return ""
	case 1:
		return rateText(f.rate)
	}
	return fmt.Sprintf("%d × %s", f.consumers, rateText(f.rate))
}

func (f *feed) Set(text string) error {
	many, each := "1", strings.ReplaceAll(text, ",", "")
	for _, times := range []string{"x", "×"} {
		if before, after, found := strings.Cut(each, times); found {
			many, each = before, after
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(many))
	rate, wrong := strconv.ParseFloat(strings.TrimSpace(each), 64)
	usable := rate > 0 && !math.IsInf(rate, 1)
	if err != nil || wrong != nil || n < 1 || !usable {
		return fmt.Errorf("must be samples per second, such as 4200, or 8x4200 for eight times as many")
	}
	*f = feed{n, rate}
	return nil
}

func (*feed) Type() string { return "rate" }

// all is the rate of all consumers.
func (f feed) all() float64 { return float64(f.consumers) * f.rate }

// cores returns the number of cores like these that the loading takes, by the CPU time of
// the column with the most workers, in which they disturb each other most.
func (f feed) cores(m benchResult) int {
	columns := m.begun()
	return int(math.Ceil(f.all() * perThousand(columns[len(columns)-1].total()) / 1000))
}

// line tells people what it takes.
func (f feed) line(m benchResult) string {
	columns := m.begun()
	last := columns[len(columns)-1]
	return fmt.Sprintf("To feed %s samples/s: %s like these, by %.3g ms of CPU time a sample with %s. Your loop's own cores come on top.",
		f.String(), words.Plural(int64(f.cores(m)), "core"), perThousand(last.total()), words.Plural(int64(last.workers), "worker"))
}
